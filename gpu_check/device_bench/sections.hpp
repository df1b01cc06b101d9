// The parts of the report, a table or a few of them each.
#ifndef DEVICE_BENCH_SECTIONS_HPP_
#define DEVICE_BENCH_SECTIONS_HPP_

#include "bench.hpp"

// Nanoseconds per call of the driver's small functions.
void calls(Bench& bench);
// Whether bytes are right, in processes of its own: see parts.hpp.
void bytes(const Settings& settings);
// A block acquired and released.
void blocks(Bench& bench);
// The device memory of whole networks, made anew for every image.
void churn(Bench& bench);
// Copies of a caller's pageable buffer, through page-locked slots and not: from where on these pay.
void pageable_copies(Bench& bench);
// Page-locked blocks that the driver allocates, and mappings that it registers.
void pinned_ways(Bench& bench);
// Copies between the object's own blocks, the host's page-locked.
void pinned_copies(Bench& bench);
// gpu_data() and cpu_data() with nothing to do.
void ready(Bench& bench);
// The library beside a stream that is captured into a graph.
void capture(Bench& bench);

#endif  // DEVICE_BENCH_SECTIONS_HPP_
