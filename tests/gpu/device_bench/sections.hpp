// The parts of the report, a table or a few of them each.
#ifndef DEVICE_BENCH_SECTIONS_HPP_
#define DEVICE_BENCH_SECTIONS_HPP_

#include "bench.hpp"

// Whether bytes are right, in processes of its own: see parts.hpp.
void bytes(const Settings& settings);
// A block acquired and released.
void blocks(Bench& bench);

#endif  // DEVICE_BENCH_SECTIONS_HPP_
