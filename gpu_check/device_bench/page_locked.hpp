// Ways to get page-locked memory without the library.
#ifndef DEVICE_BENCH_PAGE_LOCKED_HPP_
#define DEVICE_BENCH_PAGE_LOCKED_HPP_

#include <cstddef>

#include "libraries.hpp"

enum Way { kAllocated, kRegisteredHuge, kRegisteredSmall };
const char* name_of(Way way);

// With every page there: by cuMemHostAlloc, or a mapping with advice on huge pages, populated and registered. Null
// where that is refused.
void* acquire(const Driver& driver, Way way, std::size_t bytes);
void give_back(const Driver& driver, Way way, void* address, std::size_t bytes);

// Bytes on huge pages, by /proc/self/smaps; -1 where it does not say.
long huge_bytes(const void* address);

#endif  // DEVICE_BENCH_PAGE_LOCKED_HPP_
