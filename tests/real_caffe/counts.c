/* Counts the calls of SyncedMemory, and passes each on to the next definition: Caffe's own, or a library that is preloaded
 * behind this one. What the library says of a program is compared with what is counted here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long constructed, destroyed, read_host, written_host, lent_host;

/* Of the object's own host blocks: how many there were and bytes of all of them; bytes now, and the most that was. */
static unsigned long blocks, allocated, live, peak;

/* The object as this Caffe declares it, as far as it is looked at. */
struct memory {
  void *cpu, *gpu;
  size_t size;
  int head;
  unsigned char owns_cpu;
};

/* Held around each call, so that no other thread's comes between what is done and what is counted. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* An access to an object that was never accessed before gives it a block. */
static void came(size_t size) {
  blocks += size > 0;
  allocated += size;
  live += size;
  if (live > peak) peak = live;
}

/* Whether an object owns a block, which ends with the object or when it gets other memory. */
static size_t owned(const struct memory *memory) { return memory->head && memory->owns_cpu ? memory->size : 0; }

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

void _ZN5caffe12SyncedMemoryD1Ev(struct memory *memory) {
  COUNT(destroyed);
  pthread_mutex_lock(&turn);
  live -= owned(memory);
  NEXT(void (*)(void *), "_ZN5caffe12SyncedMemoryD1Ev")(memory);
  pthread_mutex_unlock(&turn);
}

static void *accessed(struct memory *memory, const char *name) {
  pthread_mutex_lock(&turn);
  int is_first = memory->head == 0;
  void *data = NEXT(void *(*)(void *), name)(memory);
  if (is_first) came(memory->size);
  pthread_mutex_unlock(&turn);
  return data;
}

const void *_ZN5caffe12SyncedMemory8cpu_dataEv(struct memory *memory) {
  COUNT(read_host);
  return accessed(memory, "_ZN5caffe12SyncedMemory8cpu_dataEv");
}

void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(struct memory *memory) {
  COUNT(written_host);
  return accessed(memory, "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv");
}

void _ZN5caffe12SyncedMemory12set_cpu_dataEPv(struct memory *memory, void *data) {
  COUNT(lent_host);
  pthread_mutex_lock(&turn);
  live -= owned(memory);
  NEXT(void (*)(void *, void *), "_ZN5caffe12SyncedMemory12set_cpu_dataEPv")(memory, data);
  pthread_mutex_unlock(&turn);
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("COUNTS");
  FILE *file = path && constructed ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "constructed=%lu destroyed=%lu read=%lu written=%lu lent=%lu\n", constructed, destroyed, read_host,
          written_host, lent_host);
  fprintf(file, "blocks=%lu allocated=%lu live=%lu peak=%lu\n", blocks, allocated, live, peak);
  char line[200];
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "VmPeak:", 7)) fputs(line, file);
  if (status) fclose(status);
  fclose(file);
}
