/* Counts the calls of SyncedMemory, and hands each on to whoever comes next: Caffe's own, or a library that is preloaded
 * behind this one. What the library says of a program is compared with what is counted here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long constructed, destroyed, read_host, written_host, lent_host;

#define COUNT(counter) __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED)
/* Found anew each time: this is no matter of speed. */
#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

void _ZN5caffe12SyncedMemoryC1Ev(void *memory) {
  COUNT(constructed);
  NEXT(void (*)(void *), "_ZN5caffe12SyncedMemoryC1Ev")(memory);
}

void _ZN5caffe12SyncedMemoryC1Em(void *memory, size_t size) {
  COUNT(constructed);
  NEXT(void (*)(void *, size_t), "_ZN5caffe12SyncedMemoryC1Em")(memory, size);
}

void _ZN5caffe12SyncedMemoryD1Ev(void *memory) {
  COUNT(destroyed);
  NEXT(void (*)(void *), "_ZN5caffe12SyncedMemoryD1Ev")(memory);
}

const void *_ZN5caffe12SyncedMemory8cpu_dataEv(void *memory) {
  COUNT(read_host);
  return NEXT(const void *(*)(void *), "_ZN5caffe12SyncedMemory8cpu_dataEv")(memory);
}

void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(void *memory) {
  COUNT(written_host);
  return NEXT(void *(*)(void *), "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv")(memory);
}

void _ZN5caffe12SyncedMemory12set_cpu_dataEPv(void *memory, void *data) {
  COUNT(lent_host);
  NEXT(void (*)(void *, void *), "_ZN5caffe12SyncedMemory12set_cpu_dataEPv")(memory, data);
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("COUNTS");
  FILE *file = path && constructed ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "constructed=%lu destroyed=%lu read=%lu written=%lu lent=%lu\n", constructed, destroyed, read_host,
          written_host, lent_host);
  fclose(file);
}
