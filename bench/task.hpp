// Work that models a part of a program: each is run in a process of its own, because what it costs depends
// on what its process did before.
#ifndef BENCH_TASK_HPP_
#define BENCH_TASK_HPP_

#include <functional>
#include <string>
#include <vector>

#include "library.hpp"

// Returns a sample, in nanoseconds, whenever it is called. The words:
//   churn NET pages|full            per image
//   small alive|one_by_one          per object
//   random even|small               per object
//   hand_over BYTES mutable|overwrite   per object
//   prefetch mutable|overwrite      per image
std::function<double()> task_of(const Library& library, const std::vector<std::string>& words,
                                const std::vector<int>& cpus);

// Frees a block of 16 MB, as a process does that has read the weights of AlexNet's or VGG-16's last layer. From
// then on glibc takes blocks of up to that size from its heap, and keeps twice as much free at the heap's end
// (mallopt(3), M_MMAP_THRESHOLD); before, it asks the system for each large block and gives each back.
void settle();

#endif  // BENCH_TASK_HPP_
