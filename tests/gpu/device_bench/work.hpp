// The work that is timed. Each function does it once or `calls` times, on buffers that are there, and returns the
// nanoseconds that one of them took.
#ifndef DEVICE_BENCH_WORK_HPP_
#define DEVICE_BENCH_WORK_HPP_

#include <cstddef>

#include "libraries.hpp"

// An object is made, asks for the block without its contents, and goes.
double acquire_device(const Library& library, std::size_t bytes, long calls);
double acquire_pinned(const Library& library, std::size_t bytes, long calls);
template <typename Allocator>
double raw_acquire_device(const Allocator& allocator, std::size_t bytes, long calls);
template <typename Allocator>
double raw_acquire_pinned(const Allocator& allocator, std::size_t bytes, long calls);

#endif  // DEVICE_BENCH_WORK_HPP_
