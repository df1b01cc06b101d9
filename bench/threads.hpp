// Threads that start working at the same moment.
#ifndef BENCH_THREADS_HPP_
#define BENCH_THREADS_HPP_

#include <functional>
#include <vector>

// The processors this process may run on; never empty.
std::vector<int> allowed_cpus();

// Binds the calling thread to one processor; false where the system refuses.
bool pin(int cpu);

// Starts the threads, lets each prepare, holds them spinning, releases them at once; nanoseconds
// from the release to the end of the last one's work.
double together(int threads, const std::vector<int>& cpus, const std::function<void(int)>& prepare,
                const std::function<void(int)>& work);

#endif  // BENCH_THREADS_HPP_
