// Storage for one object, filled with a pattern and watched behind its 32nd byte.
#ifndef SUPPORT_GUARDED_STORAGE_HPP
#define SUPPORT_GUARDED_STORAGE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Room for an object between two guards, all 0xA5, in volatile bytes: a compiler may drop other stores before an
/// object's life begins.
class GuardedStorage {
 public:
  static constexpr unsigned char pattern = 0xA5;
  static constexpr std::size_t touched = 32;

  GuardedStorage() { fill(0, sizeof bytes_); }

  void* object() { return const_cast<unsigned char*>(bytes_ + front); }

  /// From `begin` to byte 32, as a constructor may leave them.
  void spoil_from(std::size_t begin) {
    if (begin < touched) fill(front + begin, touched - begin);
  }

  /// The bytes from 32 on, which the constructor may have written.
  void note_tail() {
    for (std::size_t i = 0; i < tail; ++i) noted_[i] = bytes_[front + touched + i];
  }

  /// The bytes from 32 on are as noted, and those before the object as filled.
  bool is_intact() const {
    for (std::size_t i = 0; i < front; ++i) {
      if (bytes_[i] != pattern) return false;
    }
    for (std::size_t i = 0; i < tail; ++i) {
      if (bytes_[front + touched + i] != noted_[i]) return false;
    }
    return true;
  }

  unsigned char byte(std::size_t at) const { return bytes_[front + at]; }

 private:
  // An odd multiple of 8: no more alignment than objects need.
  static constexpr std::size_t front = 72;
  static constexpr std::size_t tail = 96;

  void fill(std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) bytes_[i] = pattern;
  }

  alignas(16) volatile unsigned char bytes_[front + touched + tail];
  unsigned char noted_[tail] = {};
};

#endif  // SUPPORT_GUARDED_STORAGE_HPP
