/* Prints the status of CUDA on one line, and the error of a device call on the next. */
#include <stdio.h>

#include "syncedmem.h"

int main(void) {
  const char *sentence = "";
  const void *data = NULL;
  syncedmem_t *memory = NULL;
  const syncedmem_status_t status = syncedmem_cuda_status(&sentence);
  printf("%s: %s\n", syncedmem_status_name(status), sentence);
  if (syncedmem_create(100, &memory) != SYNCEDMEM_SUCCESS) return 1;
  printf("%s: %s\n", syncedmem_status_name(syncedmem_gpu_data(memory, &data)), syncedmem_last_error());
  return syncedmem_destroy(memory) == SYNCEDMEM_SUCCESS ? 0 : 1;
}
