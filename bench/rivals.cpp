#include "rivals.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

struct Allocator {
  void* (*allocate)(std::size_t bytes);
  void* (*allocate_zeroed)(std::size_t bytes);
  void (*free)(void* block);
};

struct Object {
  std::size_t bytes;
  void* data;
};

// Functions of their own for each: an object has no room to say whose it is.
template <int kWhich>
struct Plain {
  static Allocator allocator;

  static void construct(void* object, std::size_t bytes) { new (object) Object{bytes, nullptr}; }
  static void destroy(void* object) { allocator.free(static_cast<Object*>(object)->data); }
  static void* mutable_cpu_data(void* storage) {
    Object* object = static_cast<Object*>(storage);
    if (object->data == nullptr) object->data = allocator.allocate_zeroed(object->bytes);
    return object->data;
  }
  static const void* cpu_data(void* object) { return mutable_cpu_data(object); }
  static int overwrite_cpu_data(void* storage, void** data) {
    Object* object = static_cast<Object*>(storage);
    if (object->data == nullptr) object->data = allocator.allocate(object->bytes);
    *data = object->data;
    return 0;
  }

  static Library library(const std::string& name, const std::string& path, const Allocator& its) {
    allocator = its;
    return {name, path, construct, destroy, cpu_data, mutable_cpu_data, overwrite_cpu_data, 0};
  }
};
template <int kWhich>
Allocator Plain<kWhich>::allocator;

void* zeroed(std::size_t bytes) { return std::calloc(1, bytes); }

void* symbol(void* handle, const std::string& name) {
  void* address = dlsym(handle, name.c_str());
  if (address == nullptr) {
    std::fprintf(stderr, "bench: the rivals' library does not export %s\n", name.c_str());
    std::exit(2);
  }
  return address;
}

Allocator allocator_of(void* handle, const std::string& name) {
  typedef void* (*Allocate)(std::size_t);
  return {reinterpret_cast<Allocate>(symbol(handle, name + "_allocate")),
          reinterpret_cast<Allocate>(symbol(handle, name + "_allocate_zeroed")),
          reinterpret_cast<void (*)(void*)>(symbol(handle, name + "_free"))};
}

}  // namespace

std::vector<Library> rivals(const std::string& path) {
  std::vector<Library> found;
  found.push_back(Plain<0>::library("malloc", "the C library", {std::malloc, zeroed, std::free}));
  if (path.empty()) return found;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "bench: %s\n", dlerror());
    std::exit(2);
  }
  found.push_back(Plain<1>::library("mimalloc", path, allocator_of(handle, "mimalloc")));
  found.push_back(Plain<2>::library("jemalloc", path, allocator_of(handle, "jemalloc")));
  return found;
}
