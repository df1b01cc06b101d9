// Storage for one object, filled with a pattern and checked after byte 31, and the fixture of suites that inspect an object of GENERATION's
// class.
#ifndef SUPPORT_GUARDED_STORAGE_HPP
#define SUPPORT_GUARDED_STORAGE_HPP

#include <cstddef>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

#include GENERATION

/// Storage for an object between two guards, all 0xA5. The bytes are volatile: a compiler may drop other stores before an
/// object's lifetime begins.
class GuardedStorage {
 public:
  static constexpr unsigned char pattern = 0xA5;
  static constexpr std::size_t touched = 32;

  GuardedStorage() { fill(0, sizeof bytes_); }

  void* object() { return const_cast<unsigned char*>(bytes_ + front); }

  /// Fills the bytes from `begin` to 31, which a constructor may leave unwritten.
  void spoil_from(std::size_t begin) {
    if (begin < touched) fill(front + begin, touched - begin);
  }

  /// Notes the bytes from 32 on, which the constructor may have written.
  void note_tail() {
    for (std::size_t i = 0; i < tail; ++i) noted_[i] = bytes_[front + touched + i];
  }

  /// Whether the bytes from 32 on are as noted, and those before the object as filled.
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
  // An odd multiple of 8 gives the object no more alignment than it needs.
  static constexpr std::size_t front = 72;
  static constexpr std::size_t tail = 96;

  void fill(std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) bytes_[i] = pattern;
  }

  alignas(16) volatile unsigned char bytes_[front + touched + tail];
  unsigned char noted_[tail] = {};
};

/// An object in guarded storage. Bytes that its constructor may leave unwritten have the guard's pattern.
template <class Base>
class LayoutOf : public Base {
 protected:
  typedef caffe::SyncedMemory SyncedMemory;

  template <typename... Size>
  SyncedMemory& construct(Size... size) {
    object_ = new (storage_.object()) SyncedMemory(size...);
    // The compiler may write padding or not: test the worst case.
    storage_.spoil_from(Generation::garbage_from);
    storage_.note_tail();
    return *object_;
  }

  void expect_intact() { EXPECT_TRUE(storage_.is_intact()) << "a byte was touched outside the first 32"; }

  void destroy() {
    object_->~SyncedMemory();
    expect_intact();
  }

  const void* pointer(std::size_t offset) const {
    const void* pointer = nullptr;
    unsigned char bytes[sizeof pointer];
    for (std::size_t i = 0; i < sizeof pointer; ++i) bytes[i] = storage_.byte(offset + i);
    std::memcpy(&pointer, bytes, sizeof pointer);
    return pointer;
  }

  void expect_whole(SyncedMemory::SyncedHead head, std::size_t size, const void* host, bool owns_host,
                    const void* device = nullptr, bool owns_device = false) {
    expect_intact();
    EXPECT_EQ(object_->head(), head);
    EXPECT_EQ(object_->size(), size);
    EXPECT_EQ(pointer(0), host);
    EXPECT_EQ(pointer(8), device);
    EXPECT_EQ(storage_.byte(28), owns_host ? 1 : 0) << "own_cpu_data_";
    EXPECT_EQ(storage_.byte(29), 0) << "cpu_malloc_use_cuda_";
    EXPECT_EQ(storage_.byte(30), owns_device ? 1 : 0) << "own_gpu_data_, where BVLC has it";
    EXPECT_EQ(storage_.byte(31) & 0x80, 0) << "nothing is in flight";
  }

  GuardedStorage storage_;
  SyncedMemory* object_ = nullptr;
};

#endif  // SUPPORT_GUARDED_STORAGE_HPP
