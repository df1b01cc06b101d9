// The clock that everything here is timed by.
#ifndef BENCH_CLOCK_HPP_
#define BENCH_CLOCK_HPP_

#include <time.h>

// Nanoseconds since some moment; never set back.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

#endif  // BENCH_CLOCK_HPP_
