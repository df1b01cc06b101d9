/* The header in a second translation unit, in C. */
#include "syncedmem.h"

int head_in_c(syncedmem_t *mem);

int head_in_c(syncedmem_t *mem) {
  syncedmem_head_t head = SYNCEDMEM_SYNCED;
  return syncedmem_head(mem, &head) == SYNCEDMEM_SUCCESS ? (int)head : -1;
}
