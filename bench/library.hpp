// The functions that make and end an object with memory on the host, from a shared library that exports the C++ ABI of
// caffe::SyncedMemory. Two libraries can be loaded at once.
#ifndef BENCH_LIBRARY_HPP_
#define BENCH_LIBRARY_HPP_

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

// The mangled names are those of member functions, which take `this` as their first argument in the Itanium C++ ABI.
struct Library {
  std::string path;
  void (*construct)(void* object, std::size_t bytes);
  void (*destroy)(void* object);
  const void* (*cpu_data)(void* object);
  void* (*mutable_cpu_data)(void* object);

  // Ends the program if a symbol that is looked up here, or called by the library itself, is another library's: the figures would be of
  // a mixture.
  explicit Library(const std::string& file) : path(file) {
    // RTLD_LOCAL keeps each library out of the scope in which the other one's symbols are looked up.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) die(dlerror());
    find(handle, "C1Em", &construct);
    find(handle, "D1Ev", &destroy);
    find(handle, "8cpu_dataEv", &cpu_data);
    find(handle, "16mutable_cpu_dataEv", &mutable_cpu_data);
    // The library itself would call a global one, too.
    if (dlsym(RTLD_DEFAULT, "_ZN5caffe12SyncedMemoryC1Em") != nullptr) die("another SyncedMemory is loaded; unset LD_PRELOAD");
  }

 private:
  [[noreturn]] void die(const std::string& what) const {
    std::fprintf(stderr, "bench: %s: %s\n", path.c_str(), what.c_str());
    std::exit(2);
  }
  template <typename Function>
  void find(void* handle, const std::string& name, Function* function) const {
    void* address = dlsym(handle, ("_ZN5caffe12SyncedMemory" + name).c_str());
    if (address == nullptr) die("it does not export SyncedMemory::" + name + ": is it a build of Caffe from rc4 on?");
    *function = reinterpret_cast<Function>(address);
  }
};

#endif  // BENCH_LIBRARY_HPP_
