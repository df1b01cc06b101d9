#include "work.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "watch.hpp"

Subject::Subject(const Library& library, std::size_t bytes, bool pinned) : library_(library), bytes_(bytes) {
  library.must(library.set_pinning(pinned ? SYNCEDMEM_PIN_ALWAYS : SYNCEDMEM_PIN_NEVER), "set_pinning");
  library.must(library.create(bytes, &object_), "create");
  library.must(library.mutable_cpu_data(object_, &host_), "mutable_cpu_data");
  // Every page is there.
  std::memset(host_, 0x5a, bytes);
  const void* device = nullptr;
  library.must(library.gpu_data(object_, &device), "gpu_data");
  device_ = const_cast<void*>(device);
}

Subject::Subject(const Library& library, std::size_t bytes, void* host, void* device)
    : library_(library), bytes_(bytes), host_(host), device_(device) {
  library.must(library.create(bytes, &object_), "create");
  library.must(library.set_gpu_data(object_, device), "set_gpu_data");
  library.must(library.set_cpu_data(object_, host), "set_cpu_data");
}

bool Subject::pinned() const {
  bool pinned = false;
  library_.must(library_.is_pinned(object_, &pinned), "is_pinned");
  return pinned;
}

Subject::~Subject() { library_.destroy(object_); }

// The access that makes the other side newer takes a few nanoseconds, which count against the library.
double Subject::to_device(const Driver& driver, long calls) const {
  void* written = nullptr;
  const void* read = nullptr;
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    library_.must(library_.mutable_cpu_data(object_, &written), "mutable_cpu_data");
    library_.must(library_.gpu_data(object_, &read), "gpu_data");
  }
  const double taken = watch.nanoseconds();
  // Work in flight must not count for the next sample.
  driver.synchronize();
  return taken / static_cast<double>(calls);
}

double Subject::to_host(const Driver& driver, long calls) const {
  void* written = nullptr;
  const void* read = nullptr;
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    library_.must(library_.mutable_gpu_data(object_, &written), "mutable_gpu_data");
    library_.must(library_.cpu_data(object_, &read), "cpu_data");
  }
  const double taken = watch.nanoseconds();
  driver.synchronize();
  return taken / static_cast<double>(calls);
}

void* Subject::written_host() const {
  void* written = nullptr;
  library_.must(library_.mutable_cpu_data(object_, &written), "mutable_cpu_data");
  return written;
}

void* Subject::written_device() const {
  void* written = nullptr;
  library_.must(library_.mutable_gpu_data(object_, &written), "mutable_gpu_data");
  return written;
}

void Subject::read_host() const {
  const void* read = nullptr;
  library_.must(library_.cpu_data(object_, &read), "cpu_data");
}

void Subject::read_device() const {
  const void* read = nullptr;
  library_.must(library_.gpu_data(object_, &read), "gpu_data");
}

double Subject::ready_gpu_data(long calls) const {
  const void* read = nullptr;
  library_.must(library_.gpu_data(object_, &read), "gpu_data");
  const Watch watch;
  for (long i = 0; i < calls; ++i) library_.must(library_.gpu_data(object_, &read), "gpu_data");
  return watch.nanoseconds() / static_cast<double>(calls);
}

double Subject::ready_cpu_data(long calls) const {
  const void* read = nullptr;
  library_.must(library_.cpu_data(object_, &read), "cpu_data");
  const Watch watch;
  for (long i = 0; i < calls; ++i) library_.must(library_.cpu_data(object_, &read), "cpu_data");
  return watch.nanoseconds() / static_cast<double>(calls);
}

Pageable::Pageable(std::size_t bytes) : address_(std::malloc(bytes)) {
  if (address_ == nullptr) die("there is no host memory");
  std::memset(address_, 0x5a, bytes);
}

Pageable::~Pageable() { std::free(address_); }

template <typename Copier>
double raw_copy(const Copier& copier, const Driver& driver, void* to, const void* from, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) copier.copy(to, from, bytes);
  const double taken = watch.nanoseconds();
  driver.synchronize();
  return taken / static_cast<double>(calls);
}
template double raw_copy(const Driver&, const Driver&, void*, const void*, std::size_t, long);
template double raw_copy(const Runtime&, const Driver&, void*, const void*, std::size_t, long);

double host_copy(void* large, std::size_t large_bytes, void* small, std::size_t small_bytes, bool out, int threads) {
  const std::size_t share = large_bytes / static_cast<std::size_t>(threads);
  const std::size_t slot = small_bytes / static_cast<std::size_t>(threads);
  const auto work = [=](int thread) {
    char* mine = static_cast<char*>(large) + share * static_cast<std::size_t>(thread);
    char* slots = static_cast<char*>(small) + slot * static_cast<std::size_t>(thread);
    for (std::size_t at = 0; at < share; at += slot) {
      const std::size_t piece = std::min(slot, share - at);
      std::memcpy(out ? mine + at : slots, out ? slots : mine + at, piece);
    }
  };
  const Watch watch;
  std::vector<std::thread> helpers;
  for (int thread = 1; thread < threads; ++thread) helpers.emplace_back(work, thread);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  return watch.nanoseconds();
}

double acquire_device(const Library& library, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    syncedmem_t* object = nullptr;
    void* data = nullptr;
    library.must(library.create(bytes, &object), "create");
    library.must(library.overwrite_gpu_data(object, &data), "overwrite_gpu_data");
    library.must(library.destroy(object), "destroy");
  }
  return watch.nanoseconds() / static_cast<double>(calls);
}

double acquire_pinned(const Library& library, std::size_t bytes, long calls) {
  library.must(library.set_pinning(SYNCEDMEM_PIN_ALWAYS), "set_pinning");
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    syncedmem_t* object = nullptr;
    void* data = nullptr;
    library.must(library.create(bytes, &object), "create");
    library.must(library.overwrite_cpu_data(object, &data), "overwrite_cpu_data");
    library.must(library.destroy(object), "destroy");
  }
  return watch.nanoseconds() / static_cast<double>(calls);
}

template <typename Allocator>
double raw_acquire_device(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free(allocator.allocate(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_acquire_device(const Driver&, std::size_t, long);
template double raw_acquire_device(const Runtime&, std::size_t, long);
template double raw_acquire_device(const Pool&, std::size_t, long);

template <typename Allocator>
double raw_acquire_pinned(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free_pinned(allocator.allocate_pinned(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_acquire_pinned(const Driver&, std::size_t, long);
template double raw_acquire_pinned(const Runtime&, std::size_t, long);
