/* refused CALL ERROR: the kernel refuses a system call, as in a sandbox, with this error. The library must do without the call, or return a
 * status. Without arguments the names of the calls are printed. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "objects.h"

static const struct {
  const char *name;
  unsigned number;
} CALLS[] = {
#define CALL(name) {#name, SYS_##name}
    CALL(mmap),        CALL(munmap),        CALL(mremap),        CALL(madvise),    CALL(mprotect),  CALL(clone),
    CALL(clone3),      CALL(openat),        CALL(read),          CALL(write),      CALL(close),     CALL(fstat),
    CALL(newfstatat),  CALL(fcntl),         CALL(flock),         CALL(ftruncate),  CALL(pread64),   CALL(nanosleep),
    CALL(sched_yield), CALL(clock_gettime), CALL(getrandom),     CALL(prctl),      CALL(prlimit64), CALL(sysinfo),
    CALL(membarrier),  CALL(gettid),        CALL(rt_sigprocmask), CALL(clock_nanosleep), CALL(sched_getaffinity),
    CALL(readlinkat),  CALL(statfs),        CALL(getcpu),        CALL(mincore),    CALL(lseek),
    CALL(fallocate),   CALL(pwrite64),
};

static void refuse(unsigned number, unsigned error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    fail("this kernel has no seccomp filters");
}

enum { OBJECTS = 16, OPERATIONS = 3000 };

static void *work(void *number) {
  object_t objects[OBJECTS] = {{0}};
  uint64_t random = seed_of((uintptr_t)number);
  for (int i = 0; i < OPERATIONS; ++i) {
    step(objects, OBJECTS, 22, &random);
    if (i % 500 == 0) done(syncedmem_trim(SYNCEDMEM_MEMORY_ALL), "trim");
  }
  end_all(objects, OBJECTS);
  return NULL;
}

int main(int arguments, char **argument) {
  size_t call = 0, calls = sizeof CALLS / sizeof *CALLS;
  if (arguments < 3) {
    for (; call < calls; ++call) puts(CALLS[call].name);
    return 0;
  }
  while (call < calls && strcmp(CALLS[call].name, argument[1]) != 0) ++call;
  if (call == calls) fail("no such call: %s", argument[1]);
  /* Let the library write files too. */
  setenv("SYNCEDMEM_TRACE", "refused-%p.trace", 1);
  setenv("SYNCEDMEM_REPORT", "refused.txt", 1);
  alarm(300);
  refuse(CALLS[call].number, (unsigned)atoi(argument[2]));
  pthread_t thread;
  int has_thread = pthread_create(&thread, NULL, work, (void *)1) == 0;
  work((void *)2);
  if (has_thread) pthread_join(thread, NULL);
  /* The filter also refuses calls at exit. */
  return 0;
}
