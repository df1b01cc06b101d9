// The math of blobs beside OpenBLAS's functions that Caffe calls for it, on the same memory.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "../include/syncedmem_blob.h"
#include "clock.hpp"
#include "rows.hpp"

namespace {

template <typename Function>
Function* find(void* handle, const char* name) {
  void* address = dlsym(handle, name);
  if (address == nullptr) {
    std::fprintf(stderr, "bench: there is no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(address);
}

// What Caffe calls, by its math_functions.cpp.
template <typename T>
struct Blas {
  T (*asum)(int, const T*, int);
  T (*dot)(int, const T*, int, const T*, int);
  void (*scal)(int, T, T*, int);
  void (*axpy)(int, T, const T*, int, T*, int);

  Blas(void* handle, char letter) {
    const std::string prefix = std::string("cblas_") + letter;
    asum = find<T(int, const T*, int)>(handle, (prefix + "asum").c_str());
    dot = find<T(int, const T*, int, const T*, int)>(handle, (prefix + "dot").c_str());
    scal = find<void(int, T, T*, int)>(handle, (prefix + "scal").c_str());
    axpy = find<void(int, T, const T*, int, T*, int)>(handle, (prefix + "axpy").c_str());
  }
};

// A blob, and its elements as OpenBLAS gets them.
template <typename T>
struct Operands {
  syncedmem_blob_t* blob = nullptr;
  decltype(&syncedmem_blob_destroy) destroy;
  T* data;
  T* diff;
  int count;

  Operands(void* handle, std::size_t bytes) : count(static_cast<int>(bytes / sizeof(T))) {
    destroy = find<decltype(syncedmem_blob_destroy)>(handle, "syncedmem_blob_destroy");
    const int64_t shape[] = {count};
    const int type = sizeof(T) == 4 ? SYNCEDMEM_FLOAT32 : SYNCEDMEM_FLOAT64;
    find<decltype(syncedmem_blob_create)>(handle, "syncedmem_blob_create")(type, &blob);
    find<decltype(syncedmem_blob_reshape)>(handle, "syncedmem_blob_reshape")(blob, 1, shape);
    data = values(handle, SYNCEDMEM_DATA);
    diff = values(handle, SYNCEDMEM_DIFF);
    for (int i = 0; i < count; ++i) {
      data[i] = static_cast<T>(i % 7 - 3);
      diff[i] = static_cast<T>(1e-9);
    }
  }
  ~Operands() { destroy(blob); }

  T* values(void* handle, int array) {
    syncedmem_t* mem = nullptr;
    void* data = nullptr;
    find<decltype(syncedmem_blob_memory)>(handle, "syncedmem_blob_memory")(blob, array, &mem);
    find<decltype(syncedmem_mutable_cpu_data)>(handle, "syncedmem_mutable_cpu_data")(mem, &data);
    return static_cast<T*>(data);
  }
};

volatile double g_sum;

template <typename T>
void rows_of(Bench& bench, void* library, void* openblas, const std::string& type, char letter) {
  const Blas<T> blas(openblas, letter);
  const auto asum = find<decltype(syncedmem_blob_asum)>(library, "syncedmem_blob_asum");
  const auto sumsq = find<decltype(syncedmem_blob_sumsq)>(library, "syncedmem_blob_sumsq");
  const auto scale = find<decltype(syncedmem_blob_scale)>(library, "syncedmem_blob_scale");
  const auto update = find<decltype(syncedmem_blob_update)>(library, "syncedmem_blob_update");
  for (const std::size_t bytes : {4 * kKiB, 16 * kKiB, 64 * kKiB, kMiB, 64 * kMiB}) {
    const auto own = std::make_shared<Operands<T>>(library, bytes);
    const auto row = [&](const std::string& name, const std::function<void()>& theirs, const std::function<void()>& ours) {
      const long calls = std::max<long>(1, static_cast<long>(4 * kMiB / bytes));
      bench.run(40, {{"math." + name + "." + type + "." + std::to_string(bytes), "ns",
                      name + " of " + type + ", " + readable(bytes)}},
                [=](const Library& l) {
                  const std::function<void()>& work = l.name == "openblas" ? theirs : ours;
                  const double start = now();
                  for (long call = 0; call < calls; ++call) work();
                  return std::vector<double>{(now() - start) / static_cast<double>(calls)};
                });
    };
    double sum = 0;
    row("asum", [=] { g_sum = blas.asum(own->count, own->data, 1); },
        [=]() mutable { g_sum = (asum(own->blob, SYNCEDMEM_DATA, &sum), sum); });
    row("sumsq", [=] { g_sum = blas.dot(own->count, own->data, 1, own->data, 1); },
        [=]() mutable { g_sum = (sumsq(own->blob, SYNCEDMEM_DATA, &sum), sum); });
    // A factor of 1 or 0 is no work for OpenBLAS.
    row("scale", [=] { blas.scal(own->count, -1, own->data, 1); }, [=] { scale(own->blob, SYNCEDMEM_DATA, -1); });
    row("update", [=] { blas.axpy(own->count, -1, own->diff, 1, own->data, 1); }, [=] { update(own->blob); });
  }
}

}  // namespace

void math_rows(const Library& library, const Settings& settings) {
  void* openblas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void* own = dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  // Built without blobs, or another Caffe in the library's place.
  if (openblas == nullptr || own == nullptr || dlsym(own, "syncedmem_blob_asum") == nullptr) {
    std::fprintf(stderr, "    no math of blobs: no OpenBLAS, or no blobs\n");
    return;
  }
  Library rival = library;
  rival.name = "openblas";
  Bench bench(rival, library, settings);
  rows_of<float>(bench, own, openblas, "float", 's');
  rows_of<double>(bench, own, openblas, "double", 'd');
}
