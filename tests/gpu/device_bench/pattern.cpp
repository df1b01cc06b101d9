#include "pattern.hpp"

#include <cstdio>
#include <cstring>

namespace {

const std::size_t kShifts = 65521;  // a prime: shifts come back after so many cases

// splitmix64 by index.
std::uint64_t word(std::uint64_t index) {
  std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

std::string at(std::size_t place, unsigned char found, unsigned char expected) {
  char text[80];
  std::snprintf(text, sizeof text, "byte %zu is 0x%02x, not 0x%02x", place, found, expected);
  return text;
}

}  // namespace

void Pattern::reserve(std::size_t bytes) {
  const std::size_t words = (bytes + kShifts) / sizeof(std::uint64_t) + 1;
  const std::size_t before = words_.size();
  if (words <= before) return;
  words_.resize(words);
  for (std::size_t i = before; i < words; ++i) words_[i] = word(i);
}

const unsigned char* Pattern::next() {
  shift_ = (shift_ + 4099) % kShifts;
  return reinterpret_cast<const unsigned char*>(words_.data()) + shift_;
}

std::string difference(const void* found, const void* expected, std::size_t bytes) {
  if (std::memcmp(found, expected, bytes) == 0) return "";
  const unsigned char *one = static_cast<const unsigned char*>(found), *other = static_cast<const unsigned char*>(expected);
  std::size_t place = 0;
  while (place + 1 < bytes && one[place] == other[place]) ++place;
  return at(place, one[place], other[place]);
}

std::string difference_from(const void* found, unsigned char value, std::size_t bytes) {
  const unsigned char* one = static_cast<const unsigned char*>(found);
  // All are equal if each is as the one before it.
  if (bytes == 0 || (one[0] == value && std::memcmp(one, one + 1, bytes - 1) == 0)) return "";
  std::size_t place = 0;
  while (place + 1 < bytes && one[place] == value) ++place;
  return at(place, one[place], value);
}
