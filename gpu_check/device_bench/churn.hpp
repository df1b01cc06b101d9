// The device memory of a network that is made anew for every image: every blob is allocated, in the order in which
// Caffe makes them, and all are freed when the image is done.
#ifndef DEVICE_BENCH_CHURN_HPP_
#define DEVICE_BENCH_CHURN_HPP_

#include <cstddef>
#include <vector>

#include "libraries.hpp"

// Sizes in bytes of one image's blobs.
typedef std::vector<std::size_t> Image;

// The nanoseconds for one image. Zeroed: every blob is filled on the device as Caffe demands it, and the time ends when
// that is done.
double churn_library(const Library& library, const Driver& driver, const Image& image, bool zeroed);
template <typename Allocator>
double churn_raw(const Allocator& allocator, const Driver& driver, const Image& image, bool zeroed);

#endif  // DEVICE_BENCH_CHURN_HPP_
