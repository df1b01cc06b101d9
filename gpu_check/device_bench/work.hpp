// The work that is timed. Each function does it once or `calls` times, on buffers that are there, and returns the
// nanoseconds that one of them took.
#ifndef DEVICE_BENCH_WORK_HPP_
#define DEVICE_BENCH_WORK_HPP_

#include <cstddef>

#include "libraries.hpp"

// An object with both sides there.
class Subject {
 public:
  // Blocks of its own; the host's is page-locked if `pinned`.
  Subject(const Library& library, std::size_t bytes, bool pinned);
  // The caller's.
  Subject(const Library& library, std::size_t bytes, void* host, void* device);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  std::size_t bytes() const { return bytes_; }
  void* host() const { return host_; }
  void* device() const { return device_; }
  syncedmem_t* object() const { return object_; }
  bool pinned() const;

  // Makes the other side newer, and asks for this one: the copy takes the time.
  double to_device(const Driver& driver, long calls) const;
  double to_host(const Driver& driver, long calls) const;
  // `written` makes a side the newest and returns its address; `read` copies to it if it is not.
  void* written_host() const;
  void* written_device() const;
  void read_host() const;
  void read_device() const;
  // Both sides hold the same: there is nothing to copy.
  double ready_gpu_data(long calls) const;
  double ready_cpu_data(long calls) const;

 private:
  const Library& library_;
  std::size_t bytes_;
  syncedmem_t* object_ = nullptr;
  void* host_ = nullptr;
  void* device_ = nullptr;
};

// From malloc(), written once.
class Pageable {
 public:
  explicit Pageable(std::size_t bytes);
  ~Pageable();
  Pageable(const Pageable&) = delete;
  Pageable& operator=(const Pageable&) = delete;
  void* get() const { return address_; }

 private:
  void* address_;
};

// A copy by `Copier`, a Driver or a Runtime.
template <typename Copier>
double raw_copy(const Copier& copier, const Driver& driver, void* to, const void* from, std::size_t bytes, long calls);

// `large` into `small`, or out of it, over and over, as copies through slots do.
double host_copy(void* large, std::size_t large_bytes, void* small, std::size_t small_bytes, bool out, int threads);

// An object is made, asks for the block without its contents, and goes.
double acquire_device(const Library& library, std::size_t bytes, long calls);
double acquire_pinned(const Library& library, std::size_t bytes, long calls);
template <typename Allocator>
double raw_acquire_device(const Allocator& allocator, std::size_t bytes, long calls);
template <typename Allocator>
double raw_acquire_pinned(const Allocator& allocator, std::size_t bytes, long calls);

#endif  // DEVICE_BENCH_WORK_HPP_
