// Allocators behind the plainest object that could be made with them, called as SyncedMemory is.
#ifndef BENCH_RIVALS_HPP_
#define BENCH_RIVALS_HPP_

#include <string>
#include <vector>

#include "library.hpp"

// The C library's malloc; then those of the shared library that bench/rivals builds, if there is one.
std::vector<Library> rivals(const std::string& path);

#endif  // BENCH_RIVALS_HPP_
