// Objects as programs use them: many small ones, and some that pass from one thread to another.
#ifndef BENCH_BLOBS_HPP_
#define BENCH_BLOBS_HPP_

#include <cstddef>
#include <vector>

#include "library.hpp"

// So many sizes from 64 B to 4 KiB, a fixed pseudo-random sequence.
std::vector<std::size_t> small_sizes(std::size_t count);

// Nanoseconds for each object: all constructed, all written in full, all destroyed; and one by one.
double all_alive(const Library& library, const std::vector<std::size_t>& sizes);
double one_by_one(const Library& library, const std::vector<std::size_t>& sizes);

// How the producer gets at the memory that it writes.
enum class Access { kMutable, kWriteOnly };

// One thread constructs an object and writes it in full; another reads it in full and destroys it. Four
// may be under way. Nanoseconds for each.
double hand_over(const Library& library, std::size_t bytes, int items, Access access, const std::vector<int>& cpus);

// A data layer of Caffe: a thread fills four circulating blobs, another copies each into a blob of its own.
// A blob gets new memory when an image needs more than it has. Nanoseconds for each image.
double prefetch(const Library& library, const std::vector<std::size_t>& images, Access access,
                const std::vector<int>& cpus);

#endif  // BENCH_BLOBS_HPP_
