/* refused CALL: the kernel refuses a system call, as in a sandbox, with one error after the other. The library must do without the call,
 * or return a status. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* Runs in a process of its own, because a filter cannot be removed. */
static void attack(unsigned number, unsigned error) {
  alarm(60);
  refuse(number, error);
  pthread_t thread;
  int has_thread = pthread_create(&thread, NULL, work, (void *)1) == 0;
  work((void *)2);
  if (has_thread) pthread_join(thread, NULL);
  /* The filter also refuses calls at exit. */
  exit(0);
}

int main(int arguments, char **argument) {
  if (arguments != 2) fail("usage: refused CALL, or refused --list");
  int lists = strcmp(argument[1], "--list") == 0, found = 0;
  /* Let the library write files too. */
  setenv("SYNCEDMEM_TRACE", "refused-%p.trace", 1);
  setenv("SYNCEDMEM_REPORT", "refused.txt", 1);
  for (size_t call = 0; call < sizeof CALLS / sizeof *CALLS; ++call) {
    if (lists) puts(CALLS[call].name);
    if (strcmp(CALLS[call].name, argument[1]) != 0) continue;
    found = 1;
    static const unsigned ERRORS[] = {EPERM, EAGAIN, ENOMEM, ENOSYS};
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; ++i) {
      pid_t child = fork();
      if (child == 0) attack(CALLS[call].number, ERRORS[i]);
      int status;
      if (child < 0 || waitpid(child, &status, 0) != child) fail("no process can be made");
      if (status != 0) fail("refused with errno %u, the process ended with status %#x", ERRORS[i], status);
    }
  }
  if (!lists && !found) fail("no such call: %s", argument[1]);
  return 0;
}
