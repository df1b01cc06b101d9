/* limits SECONDS LIMIT: operations under a limit of the system (address space, data, descriptors, file sizes, stacks) or of the library.
 * `plain` sets no limit: the caller tests settings and the environment. */
#include <pthread.h>
#include <sys/resource.h>

#include "objects.h"

enum { OBJECTS = 16 };
static double deadline;

static void limit(int resource, rlim_t bytes) {
  struct rlimit limit = {bytes, bytes};
  if (setrlimit(resource, &limit) != 0) fail("the limit cannot be set");
}

static void *work(void *most) {
  object_t objects[OBJECTS] = {{0}};
  uint64_t random = seed_of((uintptr_t)most);
  unsigned long operations = 0;
  while (now() < deadline) {
    step(objects, OBJECTS, (unsigned)(uintptr_t)most, &random);
    ++operations;
  }
  end_all(objects, OBJECTS);
  return (void *)operations;
}

int main(int arguments, char **argument) {
  if (arguments < 3) fail("usage: limits SECONDS LIMIT");
  const char *kind = argument[2];
  deadline = now() + atof(argument[1]);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  uintptr_t most = 22;
  if (strcmp(kind, "address-space") == 0) {
    limit(RLIMIT_AS, 96 << 20);
    most = 26;
  } else if (strcmp(kind, "data") == 0) {
    limit(RLIMIT_DATA, 48 << 20);
    most = 26;
  } else if (strcmp(kind, "descriptors") == 0) {
    limit(RLIMIT_NOFILE, 3);
  } else if (strcmp(kind, "file-size") == 0) {
    limit(RLIMIT_FSIZE, 0);
  } else if (strcmp(kind, "stack") == 0) {
    /* The smallest stack that the system allows: 16 KiB. */
    pthread_attr_setstacksize(&attributes, 16384);
  } else if (strcmp(kind, "own") == 0) {
    setenv("SYNCEDMEM_HOST_LIMIT", "4M", 1);
  } else if (strcmp(kind, "plain") != 0) {
    fail("no such limit: %s", kind);
  }
  pthread_t threads[2];
  void *operations[2] = {0, 0};
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], &attributes, work, (void *)(most + (uintptr_t)i % 2)) != 0) fail("no thread can be made");
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], &operations[i]);
  expect_nothing_held();
  printf("%lu operations\n", (unsigned long)operations[0] + (unsigned long)operations[1]);
  return 0;
}
