/*
 * A program that has the static library, exports none of it, and opens the shared library at the path of its argument: one copy ends
 * an object that the other made. Both allocate all blocks by malloc, and one of them says so.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syncedmem.h"

/* The functions of a copy. */
typedef struct {
  const char *name;
  syncedmem_status_t (*construct)(void *, size_t, size_t, syncedmem_t **);
  syncedmem_status_t (*destruct)(syncedmem_t *);
  syncedmem_status_t (*mutable_cpu_data)(syncedmem_t *, void **);
  syncedmem_status_t (*idle_bytes)(int32_t, size_t *);
} Copy;

static void check(int is_right, const char *what, const Copy *copy, size_t bytes) {
  if (is_right) return;
  printf("%s: %s copy, %zu bytes\n", what, copy->name, bytes);
  exit(1);
}

/* Makes and touches an object with `maker`, and ends it with `ender`. */
static void passes(const Copy *maker, const Copy *ender, size_t bytes) {
  uint64_t storage[8] = {0};
  size_t idle = 0;
  syncedmem_t *mem = NULL;
  void *data = NULL;
  check(maker->construct(storage, sizeof storage, bytes, &mem) == SYNCEDMEM_SUCCESS, "not made", maker, bytes);
  check(maker->mutable_cpu_data(mem, &data) == SYNCEDMEM_SUCCESS, "not touched", maker, bytes);
  memset(data, 1, bytes);
  check(ender->destruct(mem) == SYNCEDMEM_SUCCESS, "not ended", ender, bytes);
  check(ender->idle_bytes(SYNCEDMEM_MEMORY_PAGEABLE, &idle) == SYNCEDMEM_SUCCESS, "no number", ender, bytes);
  check(idle == 0, "a block was kept", ender, bytes);
}

static int errors[2];

static void keep_standard_error(void) {
  if (pipe(errors) != 0 || dup2(errors[1], STDERR_FILENO) < 0 || close(errors[1]) != 0) exit(2);
}

static void check_warning(void) {
  char text[1000] = {0};
  const char *line = NULL;
  close(STDERR_FILENO);
  if (read(errors[0], text, sizeof text - 1) < 0) exit(2);
  line = strchr(text, '\n');
  if (strstr(text, "libsyncedmem: another copy of this library is loaded") == text && line && !line[1]) return;
  printf("standard error does not have one line about the copies: %s\n", text);
  exit(1);
}

int main(int arguments, char **argument) {
  static const size_t sizes[] = {100, 100000, 2 << 20, (4 << 20) + 5};
  const Copy linked_in = {
      "linked-in",          syncedmem_construct, syncedmem_destruct, syncedmem_mutable_cpu_data,
      syncedmem_idle_bytes};
  Copy opened = {"opened", NULL, NULL, NULL, NULL};
  void *library = arguments > 1 ? dlopen(argument[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  size_t at;
  keep_standard_error();
  if (!library) {
    printf("cannot open the library: %s\n", dlerror());
    return 1;
  }
  *(void **)&opened.construct = dlsym(library, "syncedmem_construct");
  *(void **)&opened.destruct = dlsym(library, "syncedmem_destruct");
  *(void **)&opened.mutable_cpu_data = dlsym(library, "syncedmem_mutable_cpu_data");
  *(void **)&opened.idle_bytes = dlsym(library, "syncedmem_idle_bytes");
  check(opened.construct != linked_in.construct, "there is one copy alone", &opened, 0);
  for (at = 0; at < sizeof sizes / sizeof *sizes; ++at) {
    passes(&linked_in, &opened, sizes[at]);
    passes(&opened, &linked_in, sizes[at]);
  }
  check_warning();
  return 0;
}
