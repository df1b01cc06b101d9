/* Host memory from mimalloc. Its pages that were never used hold zeros already, so zeros are cheaper from there. */
#include <mimalloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem.h"

/* snippet:begin */
static void *allocate(size_t bytes, size_t alignment, void *context) {
  (void)context;
  return mi_zalloc_aligned(bytes, alignment);
}

static void release(void *block, size_t bytes, void *context) {
  (void)context;
  mi_free_size(block, bytes);
}

static const syncedmem_host_allocator_t mimalloc = {
    .size = sizeof mimalloc, .allocate = allocate, .release = release, .zeroed = true};
/* snippet:end */

static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

int main(void) {
  check(syncedmem_set_host_allocator(&mimalloc));
  for (size_t bytes = 1000; bytes <= 10000000; bytes *= 100) {
    syncedmem_t *mem;
    const void *data;
    check(syncedmem_create(bytes, &mem));
    check(syncedmem_cpu_data(mem, &data));
    printf("%9zu bytes: %s, the last byte is %d\n", bytes,
           mi_is_in_heap_region(data) ? "in mimalloc's heap" : "not mimalloc's", ((const char *)data)[bytes - 1]);
    check(syncedmem_destroy(mem));
  }
  return 0;
}
