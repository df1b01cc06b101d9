// dlib::gpu_data, in a build for the CPU, behind the calls of rivals.cpp. It leaves its memory as malloc gave it,
// so where zeros are asked for it has to be told to write them.
#include <dlib/cuda/gpu_data.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace {

struct Object {
  std::size_t bytes;
  dlib::gpu_data data;
};
static_assert(sizeof(Object) <= 160, "Storage in library.hpp has room for it");

// True if it has memory only now.
bool acquire(Object* object) {
  if (object->data.size() != 0) return false;
  object->data.set_size((object->bytes + sizeof(float) - 1) / sizeof(float));
  return true;
}

}  // namespace

extern "C" {

void dlib_construct(void* storage, std::size_t bytes) { new (storage) Object{bytes, {}}; }
void dlib_destroy(void* storage) { static_cast<Object*>(storage)->~Object(); }

void* dlib_mutable_cpu_data(void* storage) {
  Object* object = static_cast<Object*>(storage);
  const bool fresh = acquire(object);
  void* data = object->data.host();
  return fresh ? std::memset(data, 0, object->bytes) : data;
}

int dlib_overwrite_cpu_data(void* storage, void** data) {
  Object* object = static_cast<Object*>(storage);
  acquire(object);
  *data = object->data.host_write_only();
  return 0;
}

}  // extern "C"
