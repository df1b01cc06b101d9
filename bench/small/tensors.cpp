// Tensors of Caffe2's storage beside std::vector: what is done with memory that is there already, and a new one. A sample is shorter
// than a turn on a busy processor, and there are many of them, of all rows in turn: the least is what the work takes when nothing else
// runs.
// usage: tensors LIBRARY
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../include/syncedmem_caffe2.h"
#include "../clock.hpp"

namespace {

const int kSamples = 400;

// The library's functions, which its path decides on.
struct Functions {
  decltype(&syncedmem_typemeta) typemeta;
  decltype(&syncedmem_tensor_create) create;
  decltype(&syncedmem_tensor_destroy) destroy;
  decltype(&syncedmem_tensor_resize) resize;
  decltype(&syncedmem_tensor_mutable_data) mutable_data;
};

template <typename Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) {
    std::fprintf(stderr, "tensors: %s\n", dlerror());
    std::exit(2);
  }
}

void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) std::abort();
}

// Keeps the compiler from seeing through an address.
void use(void* data) { asm volatile("" : : "r"(data) : "memory"); }

// In turn two shapes, or sizes, both within the capacity.
const int64_t kShapes[2][2] = {{32, 64}, {24, 64}};
const std::size_t kSizes[2] = {32 * 64, 24 * 64};

struct Row {
  const char* what;
  double (*tensor)(const Functions& f, syncedmem_tensor_t* tensor, const syncedmem_typemeta_t& meta, long calls);
  double (*vector)(std::vector<float>* vector, long calls);
};

double tensor_data(const Functions& f, syncedmem_tensor_t* tensor, const syncedmem_typemeta_t& meta, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    void* data;
    check(f.mutable_data(tensor, &meta, &data));
    use(data);
  }
  return now() - start;
}

double vector_data(std::vector<float>* vector, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) use(vector->data());
  return now() - start;
}

double tensor_resize(const Functions& f, syncedmem_tensor_t* tensor, const syncedmem_typemeta_t& meta, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    void* data;
    check(f.resize(tensor, 2, kShapes[i % 2]));
    check(f.mutable_data(tensor, &meta, &data));
    use(data);
  }
  return now() - start;
}

double vector_resize(std::vector<float>* vector, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    vector->resize(kSizes[i % 2]);
    use(vector->data());
  }
  return now() - start;
}

double tensor_new(const Functions& f, syncedmem_tensor_t*, const syncedmem_typemeta_t& meta, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    syncedmem_tensor_t* tensor;
    void* data;
    check(f.create(SYNCEDMEM_HOST, &tensor));
    check(f.resize(tensor, 2, kShapes[0]));
    check(f.mutable_data(tensor, &meta, &data));
    use(data);
    check(f.destroy(tensor));
  }
  return now() - start;
}

double vector_new(std::vector<float>*, long calls) {
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    std::vector<float> vector(kSizes[0]);
    use(vector.data());
  }
  return now() - start;
}

const Row kRows[] = {
    {"the address of warm memory", tensor_data, vector_data},
    {"resize within 8 KiB, and the address", tensor_resize, vector_resize},
    {"a new one of 8 KiB of zeros, and its end", tensor_new, vector_new},
};

}  // namespace

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "usage: tensors LIBRARY\n");
    return 2;
  }
  Functions f;
  find(library, "syncedmem_typemeta", &f.typemeta);
  find(library, "syncedmem_tensor_create", &f.create);
  find(library, "syncedmem_tensor_destroy", &f.destroy);
  find(library, "syncedmem_tensor_resize", &f.resize);
  find(library, "syncedmem_tensor_mutable_data", &f.mutable_data);
  syncedmem_typemeta_t meta;
  syncedmem_tensor_t* tensor;
  check(f.typemeta(SYNCEDMEM_FLOAT32, &meta));
  check(f.create(SYNCEDMEM_HOST, &tensor));
  tensor_resize(f, tensor, meta, 1);
  std::vector<float> vector(kSizes[0]);
  std::printf("nanoseconds for each: median, least of %d samples of a tensor, and of std::vector\n", kSamples);
  for (const Row& row : kRows) {
    const long calls = 500;
    std::vector<double> samples[2];
    for (int round = 0; round < kSamples; ++round) {
      samples[0].push_back(row.tensor(f, tensor, meta, calls) / calls);
      samples[1].push_back(row.vector(&vector, calls) / calls);
    }
    std::printf("%-42s", row.what);
    for (std::vector<double>& figures : samples) {
      std::sort(figures.begin(), figures.end());
      std::printf(" %8.1f %8.1f", figures[kSamples / 2], figures[0]);
    }
    std::printf("\n");
  }
  check(f.destroy(tensor));
}
