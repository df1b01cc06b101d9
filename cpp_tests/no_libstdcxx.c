/*
 * A process without libstdc++ that asks for exceptions: the library cannot throw, prints that, and aborts.
 * CTest looks for that sentence too.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syncedmem.h"

void *gpu_data(syncedmem_t *mem) __asm__("_ZN5caffe12SyncedMemory8gpu_dataEv");

int main(void) {
  syncedmem_t *mem = NULL;
  int status = 0;
  pid_t child;

  if (syncedmem_create(8, &mem) != SYNCEDMEM_SUCCESS) return 1;
  if (syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_THROW) != SYNCEDMEM_SUCCESS) return 1;
  child = fork();
  if (child == 0) {
    gpu_data(mem);
    _exit(2);
  }
  if (waitpid(child, &status, 0) != child) return 1;
  syncedmem_destroy(mem);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return 0;
  printf("the child ended with status %d instead of SIGABRT\n", status);
  return 1;
}
