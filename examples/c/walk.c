/* The walk of Caffe's tutorial on blobs, through the C API: which access copies, and which does not. */
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem.h"

/* Prints the library's sentence if the call fails. */
static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

static const char *const heads[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};
static uint64_t to_gpu, to_cpu;

/* Prints one line: the access, the side with the newest data, and the numbers of copies. */
static void show(const syncedmem_t *mem, const char *access) {
  syncedmem_head_t head;
  syncedmem_stats_t stats = {.size = sizeof stats};
  check(syncedmem_head(mem, &head));
  check(syncedmem_stats(&stats));
  uint64_t n = stats.to_device_pinned.count + stats.to_device_pageable.count;
  uint64_t m = stats.to_host_pinned.count + stats.to_host_pageable.count;
  printf("%-18s %-13s cpu->gpu %llu, gpu->cpu %llu   %s\n", access, heads[head], (unsigned long long)n,
         (unsigned long long)m, n > to_gpu ? "data copied cpu->gpu" : m > to_cpu ? "data copied gpu->cpu" : "no data copied");
  to_gpu = n;
  to_cpu = m;
}

int main(void) {
  const char *sentence;
  if (syncedmem_cuda_status(&sentence) != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s\n", sentence);
    return 1;
  }
  check(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON));

  syncedmem_t *mem;
  void *bar;
  const void *foo;
  check(syncedmem_create(1024 * sizeof(float), &mem));
  check(syncedmem_mutable_cpu_data(mem, &bar));
  for (int i = 0; i < 1024; i++) ((float *)bar)[i] = 1;
  check(syncedmem_gpu_data(mem, &foo)); /* data copied cpu->gpu */

  size_t bytes;
  check(syncedmem_size(mem, &bytes));
  printf("%zu floats, %zu bytes\n", bytes / sizeof(float), bytes);
  show(mem, "gpu_data");
  check(syncedmem_cpu_data(mem, &foo));
  show(mem, "cpu_data");
  check(syncedmem_mutable_gpu_data(mem, &bar));
  show(mem, "mutable_gpu_data");
  check(syncedmem_mutable_gpu_data(mem, &bar));
  show(mem, "mutable_gpu_data");
  check(syncedmem_cpu_data(mem, &foo));
  show(mem, "cpu_data");
  check(syncedmem_gpu_data(mem, &foo));
  show(mem, "gpu_data");
  check(syncedmem_mutable_cpu_data(mem, &bar));
  show(mem, "mutable_cpu_data");
  check(syncedmem_mutable_gpu_data(mem, &bar));
  show(mem, "mutable_gpu_data");
  check(syncedmem_mutable_cpu_data(mem, &bar));
  show(mem, "mutable_cpu_data");
  const float *data = bar;
  printf("first %g, last %g\n", data[0], data[bytes / sizeof(float) - 1]);
  check(syncedmem_destroy(mem));
  return 0;
}
