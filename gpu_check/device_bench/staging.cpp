#include "staging.hpp"

#include <algorithm>
#include <cstring>

namespace {

// Small, so that threads end at about the same time.
const std::size_t kPiece = 256 * 1024;
const std::size_t kMostChunks = 4096;  // 4 GiB in slots of 1 MiB

// With more threads than processors another one has to run meanwhile.
void relax(unsigned& looks) {
  const unsigned kBeforeYield = 1024;
  if (++looks % kBeforeYield == 0) std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

const std::size_t Staging::kSlots, Staging::kLargestSlot, Staging::kMostThreads;

Staging::Staging(const Driver& driver)
    : driver_(driver),
      ring_(static_cast<char*>(driver.allocate_pinned(kSlots * kLargestSlot))),
      job_(),
      open_(0),
      next_(0),
      done_(kMostChunks),
      over_(true) {
  Driver::Status (*create)(void**, unsigned), (*create_event)(void**, unsigned);
  const unsigned kNonBlocking = 1, kDisableTiming = 2;
  if (!driver.entry("cuStreamCreate", create) || !driver.entry("cuEventCreate", create_event) ||
      !driver.entry("cuMemcpyAsync", copy_) || !driver.entry("cuEventRecord", record_) ||
      !driver.entry("cuEventQuery", query_) || !driver.entry("cuEventSynchronize", wait_event_) ||
      !driver.entry("cuStreamSynchronize", wait_stream_)) {
    die("the driver lacks a function for streams or events");
  }
  must(create(&stream_, kNonBlocking));
  for (void*& event : events_) must(create_event(&event, kDisableTiming));
  for (std::size_t number = 1; number < kMostThreads; ++number) threads_.emplace_back([=] { work(number); });
}

Staging::~Staging() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  // Its stream and its events go with the process.
  driver_.free_pinned(ring_);
}

void Staging::must(Driver::Status status) const {
  if (status != 0) die("a copy through slots was refused with " + std::to_string(status));
}

void Staging::copy(std::size_t threads, std::size_t slot_bytes, bool to_device, void* host, void* device,
                   std::size_t bytes) {
  const std::size_t chunks = (bytes + slot_bytes - 1) / slot_bytes;
  if (chunks > kMostChunks) die("too large to be copied through slots");
  job_ = {to_device, static_cast<char*>(host), static_cast<char*>(device), bytes, slot_bytes, slot_bytes / kPiece, chunks};
  open_.store(0);
  next_.store(0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) done_[chunk].store(0, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    over_.store(false);
    ++turn_;
    wanted_ = threads;
  }
  if (threads > 1) changed_.notify_all();
  // The stream does not wait for the legacy default stream.
  must(wait_stream_(nullptr));
  if (to_device) lead_to_device();
  else lead_to_host();
  must(wait_stream_(stream_));
  // A thread that wakes after that is not waited for.
  std::unique_lock<std::mutex> guard(mutex_);
  over_.store(true);
  changed_.wait(guard, [this] { return at_work_ == 0; });
}

void Staging::work(std::size_t number) {
  std::size_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> guard(mutex_);
      changed_.wait(guard, [&] { return ended_ || turn_ != seen; });
      if (ended_) return;
      seen = turn_;
      if (number >= wanted_ || over_.load()) continue;
      ++at_work_;
    }
    unsigned looks = 0;
    while (!over_.load(std::memory_order_acquire)) {
      if (!take_one()) relax(looks);
    }
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      --at_work_;
    }
    changed_.notify_all();
  }
}

std::size_t Staging::chunk_bytes(std::size_t chunk) const {
  return std::min(job_.slot_bytes, job_.bytes - chunk * job_.slot_bytes);
}

bool Staging::is_done(std::size_t chunk) const {
  return done_[chunk].load(std::memory_order_acquire) == (chunk_bytes(chunk) + kPiece - 1) / kPiece;
}

bool Staging::take_one() {
  std::size_t piece = next_.load(std::memory_order_relaxed);
  for (;;) {
    // A chunk may have empty pieces.
    if (piece >= open_.load(std::memory_order_acquire) * job_.pieces_per_slot) return false;
    if (next_.compare_exchange_weak(piece, piece + 1, std::memory_order_relaxed)) break;
  }
  const std::size_t chunk = piece / job_.pieces_per_slot, within = piece % job_.pieces_per_slot * kPiece;
  if (within >= chunk_bytes(chunk)) return true;
  char *const staged = slot(chunk) + within, *const host = job_.host + chunk * job_.slot_bytes + within;
  std::memcpy(job_.to_device ? staged : host, job_.to_device ? host : staged, std::min(kPiece, chunk_bytes(chunk) - within));
  done_[chunk].fetch_add(1, std::memory_order_release);
  return true;
}

void Staging::send(std::size_t chunk) {
  const Driver::Address device = reinterpret_cast<Driver::Address>(job_.device + chunk * job_.slot_bytes);
  const Driver::Address staged = reinterpret_cast<Driver::Address>(slot(chunk));
  must(copy_(job_.to_device ? device : staged, job_.to_device ? staged : device, chunk_bytes(chunk), stream_));
  must(record_(events_[chunk % kSlots], stream_));
}

bool Staging::has_come(std::size_t chunk, bool wait) const {
  const Driver::Status status = (wait ? wait_event_ : query_)(events_[chunk % kSlots]);
  const Driver::Status kNotReady = 600;
  if (status != kNotReady) must(status);
  return status == 0;
}

void Staging::lead_to_device() {
  std::size_t opened = 0, sent = 0;
  unsigned looks = 0;
  while (sent < job_.chunks) {
    while (opened < job_.chunks && opened < sent + kSlots && (opened < kSlots || has_come(opened - kSlots, opened == sent))) {
      open();
      ++opened;
    }
    if (sent < opened && is_done(sent)) send(sent++);
    else if (!take_one()) relax(looks);
  }
}

void Staging::lead_to_host() {
  std::size_t sent = 0, opened = 0, ended = 0;
  unsigned looks = 0;
  while (ended < job_.chunks) {
    while (sent < job_.chunks && sent < ended + kSlots) send(sent++);
    if (opened < sent && has_come(opened, opened == ended)) {
      open();
      ++opened;
    }
    if (ended < opened && is_done(ended)) ++ended;
    else if (!take_one()) relax(looks);
  }
}
