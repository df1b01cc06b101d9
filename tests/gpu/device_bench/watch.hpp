// A stopwatch that runs from the start.
#ifndef DEVICE_BENCH_WATCH_HPP_
#define DEVICE_BENCH_WATCH_HPP_

#include <chrono>

class Watch {
 public:
  double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

#endif  // DEVICE_BENCH_WATCH_HPP_
