// Objects of random sizes, each in the place of another: what a program does that has no network.
#ifndef BENCH_RANDOM_HPP_
#define BENCH_RANDOM_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "library.hpp"

enum class Sizes {
  kEven,  // each size up to 1 MiB as often as any other: half a MiB on average
  kSmall  // of each power of two from 4 KiB to 1 MiB as many: most are small
};

// A hundred objects, all alive until the process ends.
class RandomSizes {
 public:
  static const int kStep = 2000;

  RandomSizes(const Library& library, Sizes sizes);

  // Ends one at random and makes another in its place, written in full, so many times. Nanoseconds for each.
  double step();

 private:
  std::size_t number_below(std::size_t end);
  std::size_t size();

  struct Object {
    Storage storage;
    bool is_made = false;
  };

  const Library& library_;
  Sizes sizes_;
  std::vector<Object> objects_;
  std::uint64_t random_ = 1;
};

#endif  // BENCH_RANDOM_HPP_
