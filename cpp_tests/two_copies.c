/*
 * A program with the library linked in, which exports none of it and opens the shared library, whose path is its argument: one copy
 * ends an object that the other made. The copy that mapped a block gives it back.
 */
#define _DEFAULT_SOURCE /* mincore */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "syncedmem.h"

/* The functions of one copy. */
typedef struct {
  const char *name;
  syncedmem_status_t (*construct)(void *, size_t, size_t, syncedmem_t **);
  syncedmem_status_t (*destruct)(syncedmem_t *);
  syncedmem_status_t (*mutable_cpu_data)(syncedmem_t *, void **);
  syncedmem_status_t (*idle_bytes)(int32_t, size_t *);
  syncedmem_status_t (*trim)(int32_t);
} Copy;

static void check(int is_right, const char *what, const Copy *copy, size_t bytes) {
  if (is_right) return;
  printf("%s: %s copy, %zu bytes\n", what, copy->name, bytes);
  exit(1);
}

static int is_mapped(void *address) {
  unsigned char page;
  return mincore(address, 1, &page) == 0 || errno != ENOMEM;
}

/* An object that `maker` made and touched, ended by `ender`. */
static void passes(const Copy *maker, const Copy *ender, size_t bytes, int is_mapping) {
  uint64_t storage[8] = {0};
  size_t idle = 0;
  syncedmem_t *mem = NULL;
  void *data = NULL;
  check(maker->construct(storage, sizeof storage, bytes, &mem) == SYNCEDMEM_SUCCESS, "not made", maker, bytes);
  check(maker->mutable_cpu_data(mem, &data) == SYNCEDMEM_SUCCESS, "not touched", maker, bytes);
  memset(data, 1, bytes);
  check(ender->destruct(mem) == SYNCEDMEM_SUCCESS, "not ended", ender, bytes);
  if (is_mapping) {
    check(ender->idle_bytes(SYNCEDMEM_MEMORY_PAGEABLE, &idle) == SYNCEDMEM_SUCCESS, "no number", ender, bytes);
    check(idle == 0, "kept another's block", ender, bytes);
  }
  check(ender->trim(SYNCEDMEM_MEMORY_ALL) == SYNCEDMEM_SUCCESS, "not trimmed", ender, bytes);
  check(maker->trim(SYNCEDMEM_MEMORY_ALL) == SYNCEDMEM_SUCCESS, "not trimmed", maker, bytes);
  if (is_mapping) check(!is_mapped(data), "the block was not given back", maker, bytes);
}

int main(int arguments, char **argument) {
  static const size_t sizes[] = {100, 100000, 2 << 20, (4 << 20) + 5};
  const Copy linked_in = {
      "linked-in",          syncedmem_construct, syncedmem_destruct, syncedmem_mutable_cpu_data,
      syncedmem_idle_bytes, syncedmem_trim};
  Copy opened = {"opened", NULL, NULL, NULL, NULL, NULL};
  void *library = arguments > 1 ? dlopen(argument[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  size_t at;
  if (!library) {
    printf("cannot open the library: %s\n", dlerror());
    return 1;
  }
  *(void **)&opened.construct = dlsym(library, "syncedmem_construct");
  *(void **)&opened.destruct = dlsym(library, "syncedmem_destruct");
  *(void **)&opened.mutable_cpu_data = dlsym(library, "syncedmem_mutable_cpu_data");
  *(void **)&opened.idle_bytes = dlsym(library, "syncedmem_idle_bytes");
  *(void **)&opened.trim = dlsym(library, "syncedmem_trim");
  check(opened.construct != linked_in.construct, "there is one copy alone", &opened, 0);
  for (at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
    passes(&linked_in, &opened, sizes[at], sizes[at] >= 2 << 20);
    passes(&opened, &linked_in, sizes[at], sizes[at] >= 2 << 20);
  }
  return 0;
}
