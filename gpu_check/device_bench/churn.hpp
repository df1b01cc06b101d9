// The device memory of a network that is made anew for every image: blobs are allocated in Caffe's order, and freed
// when the image is done.
#ifndef DEVICE_BENCH_CHURN_HPP_
#define DEVICE_BENCH_CHURN_HPP_

#include <cstddef>
#include <vector>

#include "libraries.hpp"

// Of one image's blobs.
typedef std::vector<std::size_t> Image;

// For one image. Zeroed: blobs are filled on the device as Caffe demands it, and the time includes the fills.
double churn_library(const Library& library, const Driver& driver, const Image& image, bool zeroed);
template <typename Allocator>
double churn_raw(const Allocator& allocator, const Driver& driver, const Image& image, bool zeroed);

#endif  // DEVICE_BENCH_CHURN_HPP_
