// The parts of the report, a table or a few of them each.
#ifndef DEVICE_BENCH_SECTIONS_HPP_
#define DEVICE_BENCH_SECTIONS_HPP_

#include "bench.hpp"

// gpu_data() and cpu_data() with nothing to do.
void ready(Bench& bench);
// Copies between the object's own blocks, the host's page-locked.
void pinned_copies(Bench& bench);
// Copies of a caller's pageable buffer, through page-locked slots and not: from where on these pay.
void pageable_copies(Bench& bench);
// Page-locking a caller's buffer with syncedmem_pin: what it costs and brings.
void page_locking(Bench& bench);
// A block acquired and released.
void device_blocks(Bench& bench);
void pinned_blocks(Bench& bench);
// Page-locked blocks that the driver registers instead of allocating them: from when on these pay.
void registered_blocks(Bench& bench);
// The device memory of whole networks, made anew for every image.
void churn(Bench& bench);

#endif  // DEVICE_BENCH_SECTIONS_HPP_
