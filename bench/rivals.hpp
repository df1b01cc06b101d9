// Allocators behind the plainest object that could be made with them, and other libraries' objects for memory on
// both sides: all called as SyncedMemory is.
#ifndef BENCH_RIVALS_HPP_
#define BENCH_RIVALS_HPP_

#include <string>
#include <vector>

#include "library.hpp"

// The C library's malloc; then those that the shared libraries of bench/rivals export.
std::vector<Library> rivals(const std::vector<std::string>& paths);

#endif  // BENCH_RIVALS_HPP_
