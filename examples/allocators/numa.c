/* Host memory on the NUMA node of the thread that first touches an object, also where the process's policy is another. */
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>

#include "syncedmem.h"

/* snippet:begin */
/* libnuma gives whole pages: zeros, and aligned. Keep malloc for objects of less than a page if you have many. */
static void *allocate(size_t bytes, size_t alignment, void *context) {
  (void)alignment;
  (void)context;
  return numa_alloc_local(bytes);
}

static void release(void *block, size_t bytes, void *context) {
  (void)context;
  numa_free(block, bytes);
}

static const syncedmem_host_allocator_t local = {
    .size = sizeof local, .allocate = allocate, .release = release, .zeroed = true};
/* snippet:end */

static void check(syncedmem_status_t status) {
  if (status != SYNCEDMEM_SUCCESS) {
    fprintf(stderr, "%s: %s\n", syncedmem_status_name(status), syncedmem_last_error());
    exit(1);
  }
}

int main(void) {
  if (numa_available() < 0) {
    fprintf(stderr, "the system has no NUMA, or forbids its calls (as a container may): memory is where it is\n");
    return 1;
  }
  int here = numa_node_of_cpu(0);
  numa_run_on_node(here);
  check(syncedmem_set_host_allocator(&local));
  for (size_t bytes = 1000; bytes <= 10000000; bytes *= 100) {
    syncedmem_t *mem;
    void *data;
    int node = -1;
    check(syncedmem_create(bytes, &mem));
    check(syncedmem_mutable_cpu_data(mem, &data));
    ((char *)data)[bytes - 1] = 1;
    get_mempolicy(&node, NULL, 0, (char *)data + bytes - 1, MPOL_F_NODE | MPOL_F_ADDR);
    printf("%9zu bytes: %s\n", bytes, node == here ? "on this thread's node" : "on another node");
    check(syncedmem_destroy(mem));
  }
  return 0;
}
