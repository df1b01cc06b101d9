// Work that Caffe's own programs lack: memory that runs out, on the memory layer of this process; and a database.
//
// usage: probe device                  the device's name; exit status 77 and the reason where there is none
//        probe exhaust MIB             blobs of MIB are made until that fails, then all are given back
//        probe database FOLDER         makes an LMDB database of images and labels
//
// Prints results as `name: value`.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/util/db.hpp"

namespace {

void use_device() {
  caffe::Caffe::set_mode(caffe::Caffe::GPU);
  caffe::Caffe::set_random_seed(1701);
}

int print_device() {
  if (!dlopen("libcuda.so.1", RTLD_LAZY)) {
    std::printf("there is no CUDA driver (libcuda.so.1)\n");
    return 77;
  }
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  cudaDeviceProp properties;
  if (error == cudaSuccess && count > 0) error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess || count == 0) {
    std::printf("%s\n", error != cudaSuccess ? cudaGetErrorString(error) : "there is no CUDA device");
    return 77;
  }
  std::printf("%s, compute capability %d.%d\n", properties.name, properties.major, properties.minor);
  return 0;
}

int exhaust(int mib) {
  use_device();
  using Blob = caffe::Blob<float>;
  const int count = mib * (1 << 18);
  std::vector<std::unique_ptr<Blob>> blobs;
  try {
    // 4 TiB at the most: more than there is.
    for (long made = 0; made < 4L << 20; made += mib) {
      blobs.emplace_back(new Blob(std::vector<int>{count}));
      blobs.back()->mutable_gpu_data();
    }
    std::printf("there was no end\n");
    return 1;
  } catch (const std::bad_alloc&) {
    std::printf("caught std::bad_alloc behind %zu blobs\n", blobs.size() - 1);
  }
  if (blobs.size() < 2) return 1;
  blobs.clear();
  Blob again(std::vector<int>{count});
  again.mutable_gpu_data();
  // All else is zero, whatever the block held before.
  again.mutable_cpu_data()[count - 1] = 2;
  again.gpu_data();
  const float sum = again.asum_data();
  std::printf("goes on: the sum of a new blob is %s\n", sum == 2 ? "right" : "wrong");
  return sum == 2 ? 0 : 1;
}

// Images of noise and labels, which a multiplicative generator draws.
int make_database(const char* folder) {
  const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB("lmdb"));
  database->Open(folder, caffe::db::NEW);
  const std::unique_ptr<caffe::db::Transaction> transaction(database->NewTransaction());
  unsigned long state = 1;
  for (int i = 0; i < 64; ++i) {
    caffe::Datum image;
    image.set_channels(3);
    image.set_height(28);
    image.set_width(28);
    image.set_label(i % 10);
    for (int byte = 0; byte < 3 * 28 * 28; ++byte) {
      state = state * 48271 % 2147483647;
      image.mutable_data()->push_back(static_cast<char>(state >> 8));
    }
    transaction->Put(std::to_string(1000 + i), image.SerializeAsString());
  }
  transaction->Commit();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = 1;
  google::InitGoogleLogging(argv[0]);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "device" && argc == 2) return print_device();
  if (what == "exhaust" && argc == 3) return exhaust(std::atoi(argv[2]));
  if (what == "database" && argc == 3) return make_database(argv[2]);
  std::fprintf(stderr, "usage: probe device | exhaust MIB | database FOLDER\n");
  return 2;
}
