/* forks SECONDS: forks while threads work, also in children, and with the fork handlers of another library, whose lock a thread holds while
 * it calls this library. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "objects.h"

enum { THREADS = 4, OBJECTS = 8, MOST = 18 };
static double deadline;
static object_t shared;
/* The handlers of a library that the program loaded first: they take its lock before a fork. */
static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;

static void lock_others(void) { pthread_mutex_lock(&others); }
static void unlock_others(void) { pthread_mutex_unlock(&others); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(lock_others, unlock_others, unlock_others); }

static void *work(void *number) {
  object_t objects[OBJECTS] = {{0}};
  uint64_t random = seed_of((uintptr_t)number);
  while (now() < deadline) {
    int holds = next_random(&random) % 4 == 0;
    if (holds) pthread_mutex_lock(&others);
    step(objects, OBJECTS, MOST, &random);
    if (holds) pthread_mutex_unlock(&others);
  }
  end_all(objects, OBJECTS);
  return NULL;
}

/* A child: the parent's object is usable, and new ones can be made. */
static void live(uint64_t random, int depth) {
  alarm(60); /* one that hangs is ended, and its parent says so */
  const void *data;
  if (done(syncedmem_cpu_data(shared.mem, &data), "cpu_data in a child")) verify(&shared, data);
  object_t objects[OBJECTS] = {{0}};
  for (int i = 0; i < 60; ++i) step(objects, OBJECTS, MOST, &random);
  if (depth > 0 && next_random(&random) % 3 == 0) {
    pid_t child = fork();
    if (child == 0) return live(next_random(&random), depth - 1);
    int status;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) fail("a grandchild ended with status %#x", status);
  }
  if (next_random(&random) % 2) end_all(objects, OBJECTS);
  if (next_random(&random) % 2) _exit(0);
}

int main(int arguments, char **argument) {
  deadline = now() + atof(argument[arguments > 1 ? 1 : 0]);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
  void *data;
  uint64_t random = seed_of(77);
  shared.bytes = 3 << 20;
  shared.fill = 7;
  if (!done(syncedmem_create(shared.bytes, &shared.mem), "create")) fail("no memory to begin with");
  if (!done(syncedmem_mutable_cpu_data(shared.mem, &data), "mutable_cpu_data")) fail("no memory to begin with");
  memset(data, shared.fill, shared.bytes);
  unsigned long forks = 0;
  while (now() < deadline - 0.05) {
    pid_t child = fork();
    if (child == 0) {
      live(next_random(&random), 2);
      exit(0);
    }
    int status;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) fail("a child ended with status %#x", status);
    ++forks;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  done(syncedmem_destroy(shared.mem), "destroy");
  printf("%lu forks\n", forks);
  return 0;
}
