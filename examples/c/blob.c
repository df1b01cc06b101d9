/* A walk through Caffe's Blob in the C API: shapes, capacity, data and diff, sharing, and copies. */
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem_blob.h"

/* Prints the library's sentence if the call fails. */
static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

static const char *const heads[] = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};
static uint64_t to_gpu, to_cpu;

static syncedmem_t *memory(const syncedmem_blob_t *blob, syncedmem_array_t array) {
  syncedmem_t *mem;
  check(syncedmem_blob_memory(blob, array, &mem));
  return mem;
}

/* Prints one line: the step, the shape, the heads of data and diff, the capacity in bytes, and the copy. */
static void show(const syncedmem_blob_t *blob, const char *step) {
  char shape[SYNCEDMEM_BLOB_SHAPE_STRING_BYTES];
  syncedmem_head_t data, diff;
  size_t capacity;
  syncedmem_stats_t stats = {.size = sizeof stats};
  check(syncedmem_blob_shape_string(blob, shape, sizeof shape));
  check(syncedmem_head(memory(blob, SYNCEDMEM_DATA), &data));
  check(syncedmem_head(memory(blob, SYNCEDMEM_DIFF), &diff));
  check(syncedmem_blob_capacity(blob, SYNCEDMEM_DATA, &capacity));
  check(syncedmem_stats(&stats));
  uint64_t n = stats.to_device_pinned.count + stats.to_device_pageable.count;
  uint64_t m = stats.to_host_pinned.count + stats.to_host_pageable.count;
  printf("%-18s %-15s data %-13s diff %-13s capacity %4zu   %s\n", step, shape, heads[data], heads[diff], capacity,
         n > to_gpu ? "copied cpu->gpu" : m > to_cpu ? "copied gpu->cpu" : "not copied");
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

  const int64_t shape[] = {2, 3, 4, 5};
  syncedmem_blob_t *blob;
  syncedmem_t *data;
  void *values;
  check(syncedmem_blob_create(SYNCEDMEM_FLOAT32, &blob));
  check(syncedmem_blob_reshape(blob, 4, shape));
  check(syncedmem_blob_memory(blob, SYNCEDMEM_DATA, &data));
  check(syncedmem_mutable_cpu_data(data, &values));
  for (int i = 0; i < 120; i++) ((float *)values)[i] = 1;
  double sum;
  check(syncedmem_blob_asum(blob, SYNCEDMEM_DATA, &sum));
  const void *read;
  show(blob, "mutable_cpu_data");
  printf("asum_data %g\n", sum);
  check(syncedmem_gpu_data(data, &read));
  show(blob, "gpu_data");
  check(syncedmem_cpu_data(data, &read));
  show(blob, "cpu_data");
  check(syncedmem_mutable_gpu_data(memory(blob, SYNCEDMEM_DIFF), &values));
  show(blob, "mutable_gpu_diff");
  check(syncedmem_cpu_data(memory(blob, SYNCEDMEM_DIFF), &read));
  show(blob, "cpu_diff");
  check(syncedmem_blob_reshape(blob, 2, (const int64_t[]){2, 3}));
  show(blob, "Reshape to less");
  check(syncedmem_blob_reshape(blob, 1, (const int64_t[]){120}));
  show(blob, "Reshape back");
  check(syncedmem_cpu_data(data, &read));
  printf("first %g, last %g\n", ((const float *)read)[0], ((const float *)read)[119]);

  syncedmem_blob_t *other;
  check(syncedmem_blob_create(SYNCEDMEM_FLOAT32, &other));
  check(syncedmem_blob_reshape(other, 2, (const int64_t[]){10, 12}));
  show(other, "another blob");
  check(syncedmem_blob_share(other, SYNCEDMEM_DATA, blob));
  show(other, "ShareData");
  check(syncedmem_mutable_cpu_data(data, &values));
  ((float *)values)[0] = 42;
  check(syncedmem_cpu_data(memory(other, SYNCEDMEM_DATA), &read));
  show(other, "cpu_data");
  printf("first %g\n", *(const float *)read);
  check(syncedmem_blob_reshape(other, 1, (const int64_t[]){240}));
  show(other, "Reshape to more");
  show(blob, "the first blob");
  check(syncedmem_blob_destroy(blob));
  check(syncedmem_blob_destroy(other));
  return 0;
}
