// What it costs to observe: the same work with nothing observed, with the account kept, with every access counted, with a
// trace, and with both, in turn, in one process. Prints samples, one a line: row, mode, nanoseconds for one.
//
// usage: overhead LIBRARY TRACE [ROUNDS]
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../clock.hpp"
#include "syncedmem.h"

namespace {

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

template <typename F>
F function(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    std::fprintf(stderr, "overhead: %s\n", dlerror());
    std::exit(2);
  }
  F result;
  static_assert(sizeof result == sizeof address, "functions are addresses");
  std::memcpy(&result, &address, sizeof result);
  return result;
}

void ok(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    std::fprintf(stderr, "overhead: status %d\n", static_cast<int>(status));
    std::exit(2);
  }
}

// The functions of the library, the C++ ones by the names that Caffe's objects import.
struct Library {
  explicit Library(void* l)
      : construct(function<void (*)(void*, std::size_t)>(l, "_ZN5caffe12SyncedMemoryC1Em")),
        destroy(function<void (*)(void*)>(l, "_ZN5caffe12SyncedMemoryD1Ev")),
        cpu_data(function<const void* (*)(void*)>(l, "_ZN5caffe12SyncedMemory8cpu_dataEv")),
        mutable_cpu_data(function<void* (*)(void*)>(l, "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv")),
        set_accounting(function<syncedmem_status_t (*)(int32_t)>(l, "syncedmem_set_accounting")),
        trace_start(function<syncedmem_status_t (*)(const char*)>(l, "syncedmem_trace_start")),
        trace_stop(function<syncedmem_status_t (*)()>(l, "syncedmem_trace_stop")),
        set_pools(function<syncedmem_status_t (*)(bool)>(l, "syncedmem_set_pools")),
        cuda_status(function<syncedmem_status_t (*)(const char**)>(l, "syncedmem_cuda_status")),
        gpu_data(function<syncedmem_status_t (*)(syncedmem_t*, const void**)>(l, "syncedmem_gpu_data")),
        mutable_gpu_data(function<syncedmem_status_t (*)(syncedmem_t*, void**)>(l, "syncedmem_mutable_gpu_data")) {}
  void (*construct)(void*, std::size_t);
  void (*destroy)(void*);
  const void* (*cpu_data)(void*);
  void* (*mutable_cpu_data)(void*);
  syncedmem_status_t (*set_accounting)(int32_t);
  syncedmem_status_t (*trace_start)(const char*);
  syncedmem_status_t (*trace_stop)();
  syncedmem_status_t (*set_pools)(bool);
  syncedmem_status_t (*cuda_status)(const char**);
  syncedmem_status_t (*gpu_data)(syncedmem_t*, const void**);
  syncedmem_status_t (*mutable_gpu_data)(syncedmem_t*, void**);
};

struct Object {
  Object(const Library& library, std::size_t bytes) : library(library) { library.construct(storage, bytes); }
  ~Object() { library.destroy(storage); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  syncedmem_t* handle() { return reinterpret_cast<syncedmem_t*>(storage); }
  const Library& library;
  alignas(16) unsigned char storage[64];
};

// A row of the table: its name, and the work, which returns nanoseconds for one.
struct Row {
  std::string name;
  std::function<double()> work;
};

// Where it is observed, each call is one event.
double ready(const Library& l) {
  Object object(l, 1000);
  l.mutable_cpu_data(object.storage);
  const long calls = 200000;
  const double start = used();
  for (long i = 0; i < calls; i++) l.cpu_data(object.storage);
  return (used() - start) / calls;
}

// An object is made, touched for the first time, written in full, and destroyed.
double first_touch(const Library& l, std::size_t bytes, long times) {
  const double start = now();
  for (long i = 0; i < times; i++) {
    Object object(l, bytes);
    std::memset(l.mutable_cpu_data(object.storage), 1, bytes);
  }
  return (now() - start) / times;
}

// The newest data crosses: to the device and back.
double copies(const Library& l, std::size_t bytes, long times) {
  Object object(l, bytes);
  l.mutable_cpu_data(object.storage);
  void* device = nullptr;
  ok(l.mutable_gpu_data(object.handle(), &device));
  const double start = now();
  for (long i = 0; i < times; i++) {
    l.mutable_cpu_data(object.storage);
    ok(l.mutable_gpu_data(object.handle(), &device));
  }
  return (now() - start) / (2.0 * times);
}

std::string readable(std::size_t bytes) {
  if (bytes < kKiB) return std::to_string(bytes) + " B";
  return bytes < kMiB ? std::to_string(bytes / kKiB) + " KiB" : std::to_string(bytes / kMiB) + " MiB";
}

struct Size {
  std::size_t bytes;
  long times;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || count > 4) {
    std::fprintf(stderr, "usage: overhead LIBRARY TRACE [ROUNDS]\n");
    return 2;
  }
  const int rounds = count == 4 ? std::atoi(arguments[3]) : 40;
  void* handle = dlopen(arguments[1], RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "overhead: %s\n", dlerror());
    return 2;
  }
  const Library l(handle);

  std::vector<Row> rows = {{"cpu_data(), nothing to do", [&] { return ready(l); }}};
  for (const Size& size : {Size{4, 5000}, Size{4 * kKiB, 2000}, Size{64 * kKiB, 300}, Size{128 * kKiB, 200},
                           Size{256 * kKiB, 100}, Size{kMiB, 30}, Size{16 * kMiB, 2}, Size{64 * kMiB, 1}}) {
    rows.push_back({"first touch, written in full: " + readable(size.bytes),
                    [&l, size] { return first_touch(l, size.bytes, size.times); }});
  }
  for (const Size& size : {Size{64 * kKiB, 100}, Size{kMiB, 10}, Size{16 * kMiB, 1}}) {
    rows.push_back({"the same without pools: " + readable(size.bytes), [&l, size] {
                      ok(l.set_pools(false));
                      const double time = first_touch(l, size.bytes, size.times);
                      ok(l.set_pools(true));
                      return time;
                    }});
  }
  if (l.cuda_status(nullptr) == SYNCEDMEM_SUCCESS) {
    for (const Size& size : {Size{64 * kKiB, 100}, Size{kMiB, 20}, Size{16 * kMiB, 2}}) {
      rows.push_back({"copy between host and device: " + readable(size.bytes),
                      [&l, size] { return copies(l, size.bytes, size.times); }});
    }
  }

  // The order of the modes changes from round to round, so that none is always behind the same other one.
  struct Mode {
    const char* name;
    int accounting;
    bool traced;
  };
  const Mode modes[] = {{"off", 0, false}, {"on", 1, false}, {"accesses", 2, false}, {"trace", 0, true}, {"both", 2, true}};
  const int count_of_modes = sizeof modes / sizeof *modes;
  for (const Row& row : rows) {
    for (int round = 0; round < rounds; round++) {
      for (int turn = 0; turn < count_of_modes; turn++) {
        const Mode& mode = modes[(round + turn) % count_of_modes];
        ok(l.set_accounting(mode.accounting));
        if (mode.traced) ok(l.trace_start(arguments[2]));
        row.work();
        const double time = row.work();
        if (mode.traced) ok(l.trace_stop());
        std::printf("%s\t%s\t%.3f\n", row.name.c_str(), mode.name, time);
      }
    }
  }
  return 0;
}
