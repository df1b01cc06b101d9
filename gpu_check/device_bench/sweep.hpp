// The sweep over threads and slots.
#ifndef DEVICE_BENCH_SWEEP_HPP_
#define DEVICE_BENCH_SWEEP_HPP_

#include "bench.hpp"

// Of `largest` bytes. Prints a table per direction and size, and the best of each.
void sweep_staging(Bench& bench, void* host, void* device, std::size_t largest);
std::size_t sweep_rows(std::size_t largest);

#endif  // DEVICE_BENCH_SWEEP_HPP_
