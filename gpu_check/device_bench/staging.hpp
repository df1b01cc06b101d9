// Copies of pageable memory through page-locked slots, as the library makes them, with any number of threads and any
// size of slots.
#ifndef DEVICE_BENCH_STAGING_HPP_
#define DEVICE_BENCH_STAGING_HPP_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "libraries.hpp"

class Staging {
 public:
  static const std::size_t kSlots = 8, kLargestSlot = 4 * 1024 * 1024, kMostThreads = 8;

  explicit Staging(const Driver& driver);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Returns when all has arrived. `threads` includes the calling one, which alone calls the driver.
  void copy(std::size_t threads, std::size_t slot_bytes, bool to_device, void* host, void* device, std::size_t bytes);

 private:
  // Chunk n goes through slot n % kSlots, piece by piece, by any free thread.
  struct Job {
    bool to_device;
    char *host, *device;
    std::size_t bytes, slot_bytes, pieces_per_slot, chunks;
  };

  void work(std::size_t number);
  void lead_to_device();
  void lead_to_host();
  // One piece of an open chunk, if one is left.
  bool take_one();
  void open() { open_.fetch_add(1, std::memory_order_release); }
  bool is_done(std::size_t chunk) const;
  std::size_t chunk_bytes(std::size_t chunk) const;
  char* slot(std::size_t chunk) const { return ring_ + chunk % kSlots * job_.slot_bytes; }
  void send(std::size_t chunk);
  // Whether the chunk's transfer has ended; `wait`: waits for it.
  bool has_come(std::size_t chunk, bool wait) const;
  void must(Driver::Status status) const;

  const Driver& driver_;
  char* ring_;
  void* stream_ = nullptr;
  void* events_[kSlots];
  Driver::Status (*copy_)(Driver::Address, Driver::Address, std::size_t, void*);
  Driver::Status (*record_)(void*, void*);
  Driver::Status (*query_)(void*);
  Driver::Status (*wait_event_)(void*);
  Driver::Status (*wait_stream_)(void*);

  Job job_;
  std::atomic<std::size_t> open_, next_;
  std::vector<std::atomic<std::size_t>> done_;  // pieces, by chunk

  // Threads sleep between copies, and spin within one.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t turn_ = 0, wanted_ = 0, at_work_ = 0;
  std::atomic<bool> over_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

#endif  // DEVICE_BENCH_STAGING_HPP_
