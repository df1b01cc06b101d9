// The walk of Caffe's tutorial on blobs, through the C++ class of syncedmem.hpp: which access copies, and which does not.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "syncedmem.hpp"

namespace {

// Prints one line: the access, the side with the newest data, and the numbers of copies.
class Walk {
 public:
  explicit Walk(const syncedmem::SyncedMemory& memory) : memory_(memory), to_gpu_(0), to_cpu_(0) {}

  void show(const char* access) {
    static const char* const heads[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};
    const syncedmem_stats_t now = syncedmem::stats();
    const unsigned long long to_gpu =
        now.to_device_pinned.count + now.to_device_pageable.count;
    const unsigned long long to_cpu = now.to_host_pinned.count + now.to_host_pageable.count;
    std::printf("%-18s %-13s cpu->gpu %llu, gpu->cpu %llu   %s\n", access, heads[memory_.head()], to_gpu, to_cpu,
                to_gpu > to_gpu_   ? "data copied cpu->gpu"
                : to_cpu > to_cpu_ ? "data copied gpu->cpu"
                                   : "no data copied");
    to_gpu_ = to_gpu;
    to_cpu_ = to_cpu;
  }

 private:
  const syncedmem::SyncedMemory& memory_;
  unsigned long long to_gpu_, to_cpu_;
};

void walk() {
  syncedmem::SyncedMemory memory(1024 * sizeof(float));
  std::fill_n(memory.mutable_cpu_data<float>(), memory.count<float>(), 1.0f);
  memory.gpu_data<float>();  // data copied cpu->gpu
  std::printf("%zu floats, %zu bytes\n", memory.count<float>(), memory.size());
  Walk walk(memory);
  walk.show("gpu_data");
  memory.cpu_data<float>();
  walk.show("cpu_data");
  memory.mutable_gpu_data<float>();
  walk.show("mutable_gpu_data");
  memory.mutable_gpu_data<float>();
  walk.show("mutable_gpu_data");
  memory.cpu_data<float>();
  walk.show("cpu_data");
  memory.gpu_data<float>();
  walk.show("gpu_data");
  memory.mutable_cpu_data<float>();
  walk.show("mutable_cpu_data");
  memory.mutable_gpu_data<float>();
  walk.show("mutable_gpu_data");
  const float* data = memory.mutable_cpu_data<float>();
  walk.show("mutable_cpu_data");
  std::printf("first %g, last %g\n", data[0], data[memory.count<float>() - 1]);
}

}  // namespace

int main() {
  if (!syncedmem::has_cuda()) {
    std::fprintf(stderr, "%s\n", syncedmem::cuda_status());
    return 1;
  }
  try {
    syncedmem::set_accounting(SYNCEDMEM_ACCOUNTING_ON);
    walk();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
