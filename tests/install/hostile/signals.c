/* signals SECONDS: handlers that read current data, as the header allows, interrupt threads that work. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "objects.h"

enum { THREADS = 4, OBJECTS = 8, MOST = 18, LEAST = 100 };
static atomic_int is_over;
static atomic_ulong handled;
static object_t current;
static const void *address;

static void handle(int signal) {
  (void)signal;
  const void *data;
  syncedmem_status_t status = syncedmem_cpu_data(current.mem, &data);
  if (status != SYNCEDMEM_SUCCESS) fail("a handler could not read: %s", syncedmem_status_name(status));
  if (data != address) fail("a handler was given another address");
  verify(&current, data);
  atomic_fetch_add(&handled, 1);
}

static void *work(void *number) {
  object_t objects[OBJECTS] = {{0}};
  uint64_t random = seed_of((uintptr_t)number);
  while (!is_over) {
    step(objects, OBJECTS, MOST, &random);
    const void *data;
    if (!done(syncedmem_cpu_data(current.mem, &data), "cpu_data")) continue;
    verify(&current, data);
  }
  end_all(objects, OBJECTS);
  return NULL;
}

int main(int arguments, char **argument) {
  double deadline = now() + atof(argument[arguments > 1 ? 1 : 0]);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  void *data;
  current.bytes = 10000;
  current.fill = 42;
  if (!done(syncedmem_create(current.bytes, &current.mem), "create")) fail("no memory to begin with");
  if (!done(syncedmem_mutable_cpu_data(current.mem, &data), "mutable_cpu_data")) fail("no memory to begin with");
  memset(data, current.fill, current.bytes);
  address = data;
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
  /* On a busy machine few arrive in that time. */
  for (unsigned i = 0; now() < deadline || handled < LEAST; ++i) {
    pthread_kill(threads[i % THREADS], SIGUSR1);
    if (i % 64 == 0) usleep(1);
  }
  is_over = 1;
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  done(syncedmem_destroy(current.mem), "destroy");
  printf("%lu signals\n", (unsigned long)handled);
  return 0;
}
