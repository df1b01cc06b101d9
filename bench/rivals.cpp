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

typedef void* (*Allocate)(std::size_t);

template <int kWhich>
void add_allocator(void* handle, const std::string& name, const std::string& path, std::vector<Library>* to) {
  void* allocate = dlsym(handle, (name + "_allocate").c_str());
  if (allocate == nullptr) return;
  const Allocator its = {reinterpret_cast<Allocate>(allocate),
                         reinterpret_cast<Allocate>(dlsym(handle, (name + "_allocate_zeroed").c_str())),
                         reinterpret_cast<void (*)(void*)>(dlsym(handle, (name + "_free").c_str()))};
  to->push_back(Plain<kWhich>::library(name, path, its));
}

void add_object(void* handle, const std::string& name, const std::string& path, std::vector<Library>* to) {
  void* construct = dlsym(handle, (name + "_construct").c_str());
  if (construct == nullptr) return;
  void* access = dlsym(handle, (name + "_mutable_cpu_data").c_str());
  Library library;
  library.name = name;
  library.path = path;
  library.construct = reinterpret_cast<void (*)(void*, std::size_t)>(construct);
  library.destroy = reinterpret_cast<void (*)(void*)>(dlsym(handle, (name + "_destroy").c_str()));
  library.cpu_data = reinterpret_cast<const void* (*)(void*)>(access);
  library.mutable_cpu_data = reinterpret_cast<void* (*)(void*)>(access);
  library.overwrite_cpu_data =
      reinterpret_cast<int (*)(void*, void**)>(dlsym(handle, (name + "_overwrite_cpu_data").c_str()));
  library.inner_calls = 0;
  to->push_back(library);
}

}  // namespace

std::vector<Library> rivals(const std::vector<std::string>& paths) {
  std::vector<Library> found;
  found.push_back(Plain<0>::library("malloc", "the C library", {std::malloc, zeroed, std::free}));
  for (const std::string& path : paths) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::fprintf(stderr, "bench: %s\n", dlerror());
      std::exit(2);
    }
    add_allocator<1>(handle, "mimalloc", path, &found);
    add_allocator<2>(handle, "jemalloc", path, &found);
    for (const char* name : {"kokkos", "dlib", "coaster"}) add_object(handle, name, path, &found);
  }
  return found;
}
