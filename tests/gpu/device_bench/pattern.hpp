// Bytes that no two places and shifts have in common.
#ifndef DEVICE_BENCH_PATTERN_HPP_
#define DEVICE_BENCH_PATTERN_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// One pseudo-random sequence, from another shift on in every case, so that stale bytes are wrong.
class Pattern {
 public:
  void reserve(std::size_t bytes);
  // Bytes of the next case.
  const unsigned char* next();

 private:
  std::vector<std::uint64_t> words_;
  std::size_t shift_ = 0;
};

// Before a destination is written.
const unsigned char kPoison = 0xee;

// Empty if all are as expected, else the first difference: "byte 17 is 0xee, not 0x3c".
std::string difference(const void* found, const void* expected, std::size_t bytes);
// All of one value.
std::string difference_from(const void* found, unsigned char value, std::size_t bytes);

#endif  // DEVICE_BENCH_PATTERN_HPP_
