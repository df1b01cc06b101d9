// Bytes that no two places and no two shifts have in common, and the comparison with them.
#ifndef DEVICE_BENCH_PATTERN_HPP_
#define DEVICE_BENCH_PATTERN_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// One long pseudo-random sequence, made once. Every case takes it from another shift on: stale bytes of the case before are
// wrong bytes.
class Pattern {
 public:
  // Makes room for cases of so many bytes.
  void reserve(std::size_t bytes);
  // Bytes of the next case.
  const unsigned char* next();

 private:
  std::vector<std::uint64_t> words_;
  std::size_t shift_ = 0;
};

// The bytes of a destination before it is written.
const unsigned char kPoison = 0xee;

// Empty if `bytes` bytes are as expected, else the first difference: "byte 17 is 0xee, not 0x3c".
std::string difference(const void* found, const void* expected, std::size_t bytes);
// The same for bytes that are all one value.
std::string difference_from(const void* found, unsigned char value, std::size_t bytes);

#endif  // DEVICE_BENCH_PATTERN_HPP_
