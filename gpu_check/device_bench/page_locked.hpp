// Ways to get page-locked memory without the library.
#ifndef DEVICE_BENCH_PAGE_LOCKED_HPP_
#define DEVICE_BENCH_PAGE_LOCKED_HPP_

#include <cstddef>

#include "libraries.hpp"

enum Way { kAllocated, kRegisteredHuge, kRegisteredSmall };
const char* name_of(Way way);

// A block with every page there: allocated by cuMemHostAlloc; or a mapping on which huge pages were advised, or advised
// against, populated and then registered. Null where that is refused.
void* acquire(const Driver& driver, Way way, std::size_t bytes);
void give_back(const Driver& driver, Way way, void* address, std::size_t bytes);

// How many bytes of the mapping at `address` are on huge pages, as /proc/self/smaps has it; -1 where that does not say.
long huge_bytes(const void* address);

#endif  // DEVICE_BENCH_PAGE_LOCKED_HPP_
