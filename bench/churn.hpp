// A network's memory, made anew for an image.
#ifndef BENCH_CHURN_HPP_
#define BENCH_CHURN_HPP_

#include "library.hpp"
#include "nets.hpp"

enum class Touch {
  kPages,  // a byte of every page of 4 KiB: the memory's own cost, page faults included
  kFull,   // every byte, as a layer does that computes nothing
};

// Nanoseconds for one image: construct every object and write the shapes, write every blob in the
// order of the forward pass, destroy all.
double churn(const Library& library, const Net& net, Touch touch);

#endif  // BENCH_CHURN_HPP_
