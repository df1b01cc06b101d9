// A stream that is captured into a graph, and its replay.
#ifndef DEVICE_BENCH_CAPTURED_HPP_
#define DEVICE_BENCH_CAPTURED_HPP_

#include <cstddef>
#include <string>

#include "arena.hpp"
#include "libraries.hpp"

class Capturing {
 public:
  typedef Driver::Status Status;
  typedef Driver::Address Address;

  explicit Capturing(const Driver& driver);
  // The first function that this driver lacks.
  std::string missing;

  const Driver& driver;
  Status (*create)(void**, unsigned);
  Status (*destroy)(void*);
  Status (*wait)(void*);
  Status (*fill)(Address, unsigned char, std::size_t, void*);
  Status (*copy)(Address, Address, std::size_t, void*);
  Status (*begin)(void*, int);
  Status (*end)(void*, void**);
  Status (*instantiate)(void**, void*, unsigned long long);
  Status (*launch)(void*, void*);
  Status (*destroy_graph)(void*);
  Status (*destroy_instance)(void*);

 private:
  template <typename Function>
  void need(const char* name, Function& function) {
    if (!driver.entry(name, function) && missing.empty()) missing = name;
  }
};

// A capture: a fill of one buffer, the caller's work, a copy of that buffer into another.
class Captured {
 public:
  static const std::size_t kBytes = 256 * 1024;

  // `mode` is a CUstreamCaptureMode; a blocking stream is ordered with the legacy default stream.
  Captured(const Capturing& calls, int mode, bool blocking);
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  void* stream() const { return stream_; }
  // Empty if it was whole, else which call gave which status.
  std::string end();
  // Empty if it wrote what it should.
  std::string replay();

 private:
  const Capturing& calls_;
  const Readback readback_;
  void* const from_;
  void* const to_;
  void* stream_ = nullptr;
  void* graph_ = nullptr;
};

#endif  // DEVICE_BENCH_CAPTURED_HPP_
