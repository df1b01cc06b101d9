// The work that is timed: each function does it on one library and returns one sample.
#ifndef BENCH_WORK_HPP_
#define BENCH_WORK_HPP_

#include <cstddef>
#include <vector>

#include "library.hpp"

// Page faults of this process so far.
double page_faults();

// Nanoseconds for one turn of the timing loop with a call, through a pointer, of a function that
// returns at once. Contained in every figure of a few nanoseconds, and subtracted from none.
double empty_call(long calls);

// Nanoseconds for one call on an object whose data is on the host already.
double ready_cpu_data(const Library& library, long calls);
double ready_mutable_cpu_data(const Library& library, long calls);

// Nanoseconds for constructing an object of 4 KiB and destroying it, nothing in between.
double construct_destroy(const Library& library, long calls);

// Nanoseconds for construct, first mutable_cpu_data(), writing every byte, destroy.
double first_touch(const Library& library, std::size_t bytes, long calls);

// The same, with only the byte at `at` written: the time in nanoseconds, and in another run the
// growth of the process's resident memory, in bytes, before the object is destroyed.
double one_byte(const Library& library, std::size_t bytes, std::size_t at);
double one_byte_resident(const Library& library, std::size_t bytes, std::size_t at);

// Nanoseconds for construct, write-only access, destroy: nothing is written, so it is the memory's own cost.
double acquire_release(const Library& library, std::size_t bytes, long calls);

// Readers of one untouched object, released together.
struct ColdRead {
  double nanoseconds;  // until the last reader has its pointer and has read a byte
  double pointers;     // different addresses that they were given: 1 is right
};
ColdRead cold_readers(const Library& library, std::size_t bytes, int readers, const std::vector<int>& cpus);

// Threads released together, each with an object of its own: first_touch(), `calls` times, after
// as many that are not timed. Wall nanoseconds until the last one is done, divided by `calls`.
double own_objects(const Library& library, std::size_t bytes, int threads, long calls,
                   const std::vector<int>& cpus);

// The same without a library: each thread writes a block that it has, twice as first_touch() on zeros does.
double own_blocks(std::size_t bytes, int threads, long calls, const std::vector<int>& cpus);

#endif  // BENCH_WORK_HPP_
