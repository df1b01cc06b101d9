/* threads SECONDS THREADS: threads with objects of their own, readers of one fresh object at once, cancellation, and a thread that trims,
 * reads statistics and changes settings all the time. */
#include <pthread.h>
#include <stdatomic.h>

#include "objects.h"

enum { OBJECTS = 12, SHARED = 4, MOST = 20 };
static double deadline;
static atomic_ulong operations;
static object_t shared[SHARED];
static pthread_barrier_t barrier;

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
    for (int i = 0; i < 50; ++i) step(worker.objects, OBJECTS, MOST, &worker.random);
    atomic_fetch_add(&operations, 50);
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return NULL;
}

/* All readers touch the same new objects at the same moment: one of them allocates, and all see zeros at one address. */
static void *read_at_once(void *number) {
  static const void *first[SHARED];
  for (int round = 0;; ++round) {
    if ((uintptr_t)number == 0)
      for (int i = 0; i < SHARED; ++i) {
        end(&shared[i]);
        uint64_t random = seed_of((uint64_t)(round * SHARED + i));
        do make(&shared[i], MOST, &random);
        while (shared[i].mem == NULL);
        first[i] = NULL;
      }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < SHARED; ++i) {
      const void *data;
      if (!done(syncedmem_cpu_data(shared[i].mem, &data), "cpu_data")) continue;
      const void *none = NULL;
      if (!__atomic_compare_exchange_n(&first[i], &none, data, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && none != data)
        fail("two readers were given different addresses");
      verify(&shared[i], data);
    }
    atomic_fetch_add(&operations, SHARED);
    int over = now() >= deadline; /* all leave in the same round: the first one decides */
    static int leave;
    pthread_barrier_wait(&barrier);
    if ((uintptr_t)number == 0) leave = over;
    pthread_barrier_wait(&barrier);
    if (leave) return NULL;
  }
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
    case 3: done(syncedmem_set_accounting((int)(next_random(&random) % 3)), "set_accounting"); break;
    case 4: done(syncedmem_set_pool_budget(next_random(&random) % (64 << 20)), "budget"); break;
    default: syncedmem_report(text, sizeof text, &length);
    }
    usleep(200);
  }
  return unused;
}

int main(int arguments, char **argument) {
  deadline = now() + atof(argument[arguments > 1 ? 1 : 0]);
  int count = arguments > 2 ? atoi(argument[2]) : 16, readers = 4;
  pthread_t workers[count], reader[readers], disturber;
  pthread_barrier_init(&barrier, NULL, (unsigned)readers);
  for (intptr_t i = 0; i < count; ++i) pthread_create(&workers[i], NULL, work, (void *)i);
  for (intptr_t i = 0; i < readers; ++i) pthread_create(&reader[i], NULL, read_at_once, (void *)i);
  pthread_create(&disturber, NULL, disturb, NULL);
  uint64_t random = seed_of(2000);
  while (now() < deadline - 0.1) {
    /* Cancel a thread and start another in its place. */
    int victim = (int)(next_random(&random) % (uint64_t)count);
    pthread_cancel(workers[victim]);
    pthread_join(workers[victim], NULL);
    pthread_create(&workers[victim], NULL, work, (void *)(uintptr_t)next_random(&random));
    usleep(2000);
  }
  for (int i = 0; i < count; ++i) pthread_join(workers[i], NULL);
  for (int i = 0; i < readers; ++i) pthread_join(reader[i], NULL);
  pthread_join(disturber, NULL);
  end_all(shared, SHARED);
  expect_nothing_held();
  printf("%lu operations\n", (unsigned long)operations);
  return 0;
}
