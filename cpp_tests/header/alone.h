/* A first use of syncedmem.h, in C and in C++, without any other include. */
#include "syncedmem.h"

static int use_the_header(void) {
  syncedmem_t *mem = NULL;
  const void *data = NULL;
  size_t size = 0;
  syncedmem_head_t head;
  bool right;

  if (syncedmem_create(16, &mem) != SYNCEDMEM_SUCCESS) return 1;
  right = syncedmem_cpu_data(mem, &data) == SYNCEDMEM_SUCCESS && ((const char *)data)[15] == 0 &&
          syncedmem_size(mem, &size) == SYNCEDMEM_SUCCESS && size == 16 &&
          syncedmem_head(mem, &head) == SYNCEDMEM_SUCCESS && head == SYNCEDMEM_HEAD_AT_CPU &&
          sizeof head == 4 && sizeof(syncedmem_status_t) == 4;
  return syncedmem_destroy(mem) == SYNCEDMEM_SUCCESS && right ? 0 : 1;
}
