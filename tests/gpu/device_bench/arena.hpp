// The memory of a case's copies: host and device ranges of one kind, with guards.
#ifndef DEVICE_BENCH_ARENA_HPP_
#define DEVICE_BENCH_ARENA_HPP_

#include <cstddef>

#include "libraries.hpp"

struct Kind {
  enum Host { kCallersPageable, kCallersPinned, kRegistered, kOwnPageable, kOwnPinned };
  const char* name;
  Host host;
  bool managed;  // the device side is managed memory of the caller's
  bool async;    // by push and pull, on a stream that does not block

  bool own() const { return host == kOwnPageable || host == kOwnPinned; }
};

// The caller's buffers; none if the object has its own.
class Arena {
 public:
  Arena(const Driver& driver, const Kind& kind, std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool usable() const { return usable_; }
  // Guard bytes before and behind every range.
  static const std::size_t kGuard = 64;
  unsigned char* host(std::size_t misaligned) const { return host_ + kFirst + misaligned; }
  unsigned char* device(std::size_t misaligned) const { return device_ + kFirst + misaligned; }

 private:
  static const std::size_t kFirst = 256, kSlack = 1024;
  const Driver& driver_;
  const Kind kind_;
  unsigned char* host_ = nullptr;
  unsigned char* device_ = nullptr;
  bool usable_ = true;
};

// Page-locked; pageable for copies by several threads.
class Readback {
 public:
  Readback(const Driver& driver, std::size_t bytes, bool pinned);
  ~Readback();
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;
  unsigned char* get() const { return address_; }

 private:
  const Driver& driver_;
  const bool pinned_;
  unsigned char* address_;
};

#endif  // DEVICE_BENCH_ARENA_HPP_
