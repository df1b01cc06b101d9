// What is measured in processes of their own: this program, started again for one library. Both libraries
// are loaded there, so that the processes are alike.
#ifndef BENCH_CHILD_HPP_
#define BENCH_CHILD_HPP_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "library.hpp"

// A process with a task, which waits for the command to do it once more.
class Worker {
 public:
  // `command` starts this program; `history` is fresh, or settled, which see in task.hpp.
  Worker(const std::vector<std::string>& command, const Library& library, const std::string& history,
         const std::vector<std::string>& task);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A sample of the task.
  double sample();
  // Bytes by which its resident memory has grown at most since the task began.
  double peak();
  // Page faults of a sample, on average.
  double faults();

 private:
  double ask(char what);

  std::string title_;
  pid_t child_;
  int to_, from_;
};

// System calls of one acquisition and release of a block that was given back before: the thread that
// makes them is traced. None if the system does not let us trace.
std::vector<double> calls_of_cycle(const std::vector<std::string>& command, const Library& library,
                                   std::size_t bytes);

// The child's part: the words behind --child; returns its exit status.
int child_main(const std::vector<Library>& libraries, const std::vector<std::string>& words,
               const std::vector<int>& cpus);

#endif  // BENCH_CHILD_HPP_
