/* threads SECONDS THREADS [KIND]: threads with objects of their own. Without KIND some are cancelled, and one trims, reads statistics and
 * changes settings all the time. KIND is `forks`, of children that fork, too, beside that one; a limit of the system (address-space, data,
 * descriptors, file-size) or of the library (own); or `plain`, where the caller tests settings and the environment. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "objects.h"

enum { OBJECTS = 16 };
static double deadline;
static atomic_ulong operations;
static unsigned most = 20;

struct worker {
  object_t objects[OBJECTS];
  uint64_t random;
};

static void clean_up(void *worker) { end_all(((struct worker *)worker)->objects, OBJECTS); }

static void *work(void *number) {
  struct worker worker = {.random = seed_of((uintptr_t)number)};
  pthread_cleanup_push(clean_up, &worker);
  /* The first trims of a process come from all threads at once. */
  done(syncedmem_trim(SYNCEDMEM_MEMORY_ALL), "trim");
  while (now() < deadline) {
    for (int i = 0; i < 50; ++i) step(worker.objects, OBJECTS, most, &worker.random);
    atomic_fetch_add(&operations, 50);
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return NULL;
}

static void *disturb(void *unused) {
  uint64_t random = seed_of(1000);
  char text[2000];
  size_t length;
  while (now() < deadline) {
    syncedmem_stats_t stats = {.size = sizeof stats};
    switch (next_random(&random) % 6) {
    case 0: done(syncedmem_trim(SYNCEDMEM_MEMORY_ALL), "trim"); break;
    case 1: done(syncedmem_stats(&stats), "stats"); break;
    case 2: done(syncedmem_set_pool_budget(next_random(&random) % 4 ? SIZE_MAX : 0), "no budget"); break;
    case 3: done(syncedmem_set_accounting((int)(next_random(&random) % 2)), "set_accounting"); break;
    case 4: done(syncedmem_set_pool_budget(next_random(&random) % (64 << 20)), "budget"); break;
    default: syncedmem_report(text, sizeof text, &length);
    }
    usleep(200);
  }
  return unused;
}

/* A child uses its parent's object and new ones, and may fork, too. */
static void fork_child(const object_t *old, uint64_t random, int depth) {
  pid_t child = fork();
  if (child == 0) {
    alarm(300); /* one that hangs is ended, and its parent says so */
    const void *data;
    object_t objects[OBJECTS] = {{0}};
    if (done(syncedmem_cpu_data(old->mem, &data), "cpu_data in a child")) verify(old, data);
    for (int i = 0; i < 60; ++i) step(objects, OBJECTS, most, &random);
    if (depth > 0 && next_random(&random) % 3 == 0) fork_child(old, next_random(&random), depth - 1);
    if (next_random(&random) % 2) end_all(objects, OBJECTS);
    if (next_random(&random) % 2) _exit(0);
    exit(0);
  }
  int status;
  if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) fail("a child ended with status %#x", status);
}

static void limit(int resource, rlim_t bytes) {
  struct rlimit limit = {bytes, bytes};
  if (setrlimit(resource, &limit) != 0) fail("the limit cannot be set");
}

static void set_limit(const char *kind) {
  most = 22;
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
  } else if (strcmp(kind, "own") == 0) {
    setenv("SYNCEDMEM_HOST_LIMIT", "4M", 1);
  } else if (strcmp(kind, "plain") != 0 && strcmp(kind, "forks") != 0) {
    fail("no such kind: %s", kind);
  }
}

int main(int arguments, char **argument) {
  if (arguments < 3) fail("usage: threads SECONDS THREADS [KIND]");
  deadline = now() + atof(argument[1]);
  int count = atoi(argument[2]);
  pthread_t workers[count], disturber;
  if (arguments > 3) set_limit(argument[3]);
  for (intptr_t i = 0; i < count; ++i)
    if (pthread_create(&workers[i], NULL, work, (void *)i) != 0) fail("no thread can be made");
  uint64_t random = seed_of(2000);
  int forks = arguments > 3 && strcmp(argument[3], "forks") == 0, disturbs = arguments == 3 || forks;
  if (disturbs) pthread_create(&disturber, NULL, disturb, NULL);
  if (arguments == 3) {
    while (now() < deadline - 0.1) {
      /* Cancel a thread and start another in its place. */
      int victim = (int)(next_random(&random) % (uint64_t)count);
      pthread_cancel(workers[victim]);
      pthread_join(workers[victim], NULL);
      pthread_create(&workers[victim], NULL, work, (void *)(uintptr_t)next_random(&random));
      usleep(2000);
    }
  } else if (forks) {
    object_t old = {NULL, 3 << 20, 0};
    if (!done(syncedmem_create(old.bytes, &old.mem), "create")) fail("no memory to begin with");
    while (now() < deadline - 0.1) fork_child(&old, next_random(&random), 2);
    end(&old);
  }
  if (disturbs) pthread_join(disturber, NULL);
  for (int i = 0; i < count; ++i) pthread_join(workers[i], NULL);
  expect_nothing_held();
  printf("%lu operations\n", (unsigned long)operations);
  return 0;
}
