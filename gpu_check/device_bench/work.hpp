// The work that is timed. Each function does it once or `calls` times, on buffers that are there, and returns the
// nanoseconds that one of them took.
#ifndef DEVICE_BENCH_WORK_HPP_
#define DEVICE_BENCH_WORK_HPP_

#include <cstddef>

#include "libraries.hpp"

// An object with both sides allocated, page-locked or not.
class Subject {
 public:
  Subject(const Library& library, std::size_t bytes, bool pinned);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  std::size_t bytes() const { return bytes_; }
  void* host() const { return host_; }
  void* device() const { return device_; }
  bool pinned() const { return pinned_; }

  // Through the library: makes one side newer, and asks for the other. The copy is what takes the time.
  double to_device(const Driver& driver, long calls) const;
  double to_host(const Driver& driver, long calls) const;
  // Nothing is to be done: both sides hold the same.
  double ready_gpu_data(long calls) const;
  double ready_cpu_data(long calls) const;

 private:
  const Library& library_;
  std::size_t bytes_;
  syncedmem_t* object_ = nullptr;
  void* host_ = nullptr;
  void* device_ = nullptr;
  bool pinned_ = false;
};

// The same copy by `Copier`, a Driver or a Runtime.
template <typename Copier>
double raw_copy(const Copier& copier, const Driver& driver, const Subject& subject, bool to_device, long calls);

double allocate_device(const Library& library, std::size_t bytes, long calls);
double allocate_pinned(const Library& library, std::size_t bytes, long calls);
template <typename Allocator>
double raw_allocate_device(const Allocator& allocator, std::size_t bytes, long calls);
template <typename Allocator>
double raw_allocate_pinned(const Allocator& allocator, std::size_t bytes, long calls);

#endif  // DEVICE_BENCH_WORK_HPP_
