// Another process of this program.
#ifndef DEVICE_BENCH_CHILD_HPP_
#define DEVICE_BENCH_CHILD_HPP_

#include <string>
#include <vector>

struct Ended {
  int status;        // of waitpid
  bool timed_out;    // it was killed
  std::string text;  // its output that was not forwarded

  bool well() const { return !timed_out && status == 0; }
  // "exit status 1", "signal 11", "no end within 20 s"
  std::string how(double limit) const;
};

// Lines on stdout and stderr are forwarded as they come; the last stays in `text`, or all of them with `quiet`.
Ended run_child(const std::vector<std::string>& arguments, double limit, bool quiet);

// Kills the process after the time limit. The status of waitpid, or -1.
int wait_for(int process, double seconds);

#endif  // DEVICE_BENCH_CHILD_HPP_
