/* Cancels a thread on a driver whose functions are cancellation points: the thread ends after the library's call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "syncedmem.h"

static int calls_that_returned;

static void *cancelled(void *unused) {
  const void *data = NULL;
  syncedmem_t *memory = NULL;
  (void)unused;
  pthread_cancel(pthread_self());
  if (syncedmem_cuda_status(NULL) == SYNCEDMEM_SUCCESS) ++calls_that_returned;
  if (syncedmem_create(100, &memory) == SYNCEDMEM_SUCCESS) ++calls_that_returned;
  if (syncedmem_gpu_data(memory, &data) == SYNCEDMEM_ERROR_DRIVER) ++calls_that_returned;
  if (syncedmem_destroy(memory) == SYNCEDMEM_SUCCESS) ++calls_that_returned;
  pthread_testcancel();
  return NULL;
}

int main(void) {
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, cancelled, NULL) || pthread_join(thread, &result)) return 1;
  printf("%d calls returned, and then the thread was %s\n", calls_that_returned,
         result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  return 0;
}
