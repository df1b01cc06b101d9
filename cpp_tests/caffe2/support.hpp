// Helpers of the suites of Caffe2's storage.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "syncedmem/caffe2/compat.hpp"

/// Counts its live objects.
class Counted {
 public:
  Counted() : value(7) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }

  int value;
  static int alive;
};

/// The constructor throws after `left` objects.
class Throwing {
 public:
  Throwing() {
    if (left == 0) throw std::runtime_error("no more of these");
    --left;
    ++alive;
  }
  Throwing(const Throwing&) = delete;
  Throwing& operator=(const Throwing& other) {
    if (other.refuses) throw std::runtime_error("this one is not copied");
    return *this;
  }
  ~Throwing() { --alive; }

  bool refuses = false;
  static int left;
  static int alive;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The sentence of the exception that `act` throws.
template <typename Exception, typename Act>
std::string sentence_of(Act act) {
  try {
    act();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
