// What makes and unmakes an object that holds memory on the host: a shared library that exports the C++
// ABI of caffe::SyncedMemory, loaded beside others like it, or a rival that is called the same way.
#ifndef BENCH_LIBRARY_HPP_
#define BENCH_LIBRARY_HPP_

#include <cstddef>
#include <new>
#include <string>

// What the mangled names point to: member functions, with `this` as their first argument, as the
// Itanium C++ ABI passes it. No header of Caffe is needed.
struct Library {
  std::string name, path;
  void (*construct)(void* object, std::size_t bytes);
  void (*destroy)(void* object);
  const void* (*cpu_data)(void* object);
  void* (*mutable_cpu_data)(void* object);
  int (*overwrite_cpu_data)(void* object, void** data);  // null where there is none, as in Caffe
  int inner_calls;  // relocations of its own on SyncedMemory symbols, all seen to bind inside

  // To write everything: what the object held, zeros at first, is not asked for if that can be said.
  void* write_only(void* object) const {
    void* data = nullptr;
    if (overwrite_cpu_data == nullptr || overwrite_cpu_data(object, &data) != 0) data = mutable_cpu_data(object);
    return data;
  }
};

// Loads the library, and ends the program with a sentence if any SyncedMemory symbol, handed to us
// or called by the library itself, comes from anywhere else: the figures would be of a mixture.
Library load(const std::string& name, const std::string& path);

// Storage as Caffe's consumers allocate it: from the caller's `new`, with room for the largest of the rivals'
// objects (the sizeof of every BVLC version since rc3 is 40). Constructing and destroying in it is left to the
// user of this class.
class Storage {
 public:
  Storage() : bytes_(::operator new(kBytes)) {}
  ~Storage() { ::operator delete(bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  void* get() const { return bytes_; }

 private:
  static const std::size_t kBytes = 160;
  void* bytes_;
};

#endif  // BENCH_LIBRARY_HPP_
