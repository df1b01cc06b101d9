// A walk through Caffe's Blob with the class of syncedmem/blob.hpp: shapes, capacity, data and diff, sharing, and copies.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "syncedmem/blob.hpp"

namespace {

// Prints one line: the step, the shape, the heads of data and diff, the capacity in bytes, and the copy.
void show(const syncedmem::Blob<float>& blob, const char* step) {
  static const char* const heads[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};
  static unsigned long long to_gpu, to_cpu;
  const syncedmem_stats_t now = syncedmem::stats();
  const unsigned long long n = now.to_device_pinned.count + now.to_device_pageable.count;
  const unsigned long long m = now.to_host_pinned.count + now.to_host_pageable.count;
  std::printf("%-18s %-15s data %-13s diff %-13s capacity %4zu   %s\n", step, blob.shape_string().c_str(),
              heads[blob.data()->head()], heads[blob.diff()->head()], blob.data()->size(),
              n > to_gpu   ? "copied cpu->gpu"
              : m > to_cpu ? "copied gpu->cpu"
                           : "not copied");
  to_gpu = n;
  to_cpu = m;
}

void walk() {
  syncedmem::Blob<float> blob(2, 3, 4, 5);
  std::fill_n(blob.mutable_cpu_data(), blob.count(), 1.0f);
  const float sum = blob.asum_data();
  show(blob, "mutable_cpu_data");
  std::printf("asum_data %g\n", sum);
  blob.gpu_data();
  show(blob, "gpu_data");
  blob.cpu_data();
  show(blob, "cpu_data");
  blob.mutable_gpu_diff();
  show(blob, "mutable_gpu_diff");
  blob.cpu_diff();
  show(blob, "cpu_diff");
  blob.Reshape({2, 3});
  show(blob, "Reshape to less");
  blob.Reshape({120});
  show(blob, "Reshape back");
  std::printf("first %g, last %g\n", blob.cpu_data()[0], blob.cpu_data()[119]);

  syncedmem::Blob<float> other({10, 12});
  show(other, "another blob");
  other.ShareData(blob);
  show(other, "ShareData");
  blob.mutable_cpu_data()[0] = 42;
  const float* data = other.cpu_data();
  show(other, "cpu_data");
  std::printf("first %g\n", data[0]);
  other.Reshape({240});
  show(other, "Reshape to more");
  show(blob, "the first blob");
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
