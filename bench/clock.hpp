// The clocks by which everything here is timed, in nanoseconds.
#ifndef BENCH_CLOCK_HPP_
#define BENCH_CLOCK_HPP_

#include <time.h>

inline double nanoseconds_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Since some moment; never set back.
inline double now() { return nanoseconds_of(CLOCK_MONOTONIC); }

// That the processor worked for this process: other work on the machine matters less to it.
inline double used() { return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID); }

#endif  // BENCH_CLOCK_HPP_
