#include "copies_compared.hpp"

#include <cstring>

Compared::Compared(const Library& library, const Driver& driver, const Kind& kind, const Arena& arena, std::size_t bytes,
                   std::size_t host_misaligned, std::size_t device_misaligned, void* stream)
    : library_(library),
      driver_(driver),
      kind_(kind),
      bytes_(bytes),
      guard_(kind.own() ? 0 : Arena::kGuard),
      stream_(stream) {
  library.must(library.create(bytes, &object_), "create");
  if (kind.own()) {
    const int pinning = kind.host == Kind::kOwnPinned ? SYNCEDMEM_PIN_ALWAYS : SYNCEDMEM_PIN_NEVER;
    library.must(library.set_pinning(pinning), "set_pinning");
    void *host = nullptr, *device = nullptr;
    library.must(library.overwrite_cpu_data(object_, &host), "overwrite_cpu_data");
    library.must(library.overwrite_gpu_data(object_, &device), "overwrite_gpu_data");
    host_ = static_cast<unsigned char*>(host);
    device_ = static_cast<unsigned char*>(device);
    bool pinned = false;
    library.must(library.is_pinned(object_, &pinned), "is_pinned");
    if (kind.host == Kind::kOwnPinned && !pinned) not_as_asked_ = "the library did not page-lock a block";
    return;
  }
  host_ = arena.host(host_misaligned);
  device_ = arena.device(device_misaligned);
  library.must(library.set_gpu_data(object_, device_), "set_gpu_data");
  library.must(library.set_cpu_data(object_, host_), "set_cpu_data");
  if (kind.host == Kind::kRegistered && library.pin(object_) != SYNCEDMEM_SUCCESS) not_as_asked_ = library.last_error();
}

Compared::~Compared() {
  if (kind_.host == Kind::kRegistered) library_.unpin(object_);
  library_.destroy(object_);
}

void Compared::fill_device() const { driver_.fill(device_ - guard_, bytes_ + 2 * guard_, kPoison); }

std::string Compared::to_device(const unsigned char* expected, unsigned char* readback) const {
  void* host = nullptr;
  const void* device = nullptr;
  library_.must(library_.mutable_cpu_data(object_, &host), "mutable_cpu_data");
  std::memcpy(host_, expected, bytes_);
  fill_device();
  driver_.synchronize();
  if (kind_.async) {
    library_.must(library_.async_gpu_push(object_, static_cast<CUstream_st*>(stream_)), "async_gpu_push");
    library_.must(library_.wait(object_), "wait");
  }
  library_.must(library_.gpu_data(object_, &device), "gpu_data");
  if (host != host_ || device != device_) return "the object's addresses changed";
  std::memset(readback, 0x77, bytes_ + 2 * guard_);
  driver_.copy(readback, device_ - guard_, bytes_ + 2 * guard_);
  const std::string wrong = difference(readback + guard_, expected, bytes_);
  if (!wrong.empty()) return blame(wrong, expected, readback);
  std::string guards = difference_from(readback, kPoison, guard_);
  if (guards.empty()) guards = difference_from(readback + guard_ + bytes_, kPoison, guard_);
  return guards.empty() ? "" : "beside the range on the device, " + guards;
}

std::string Compared::to_host(const unsigned char* expected, unsigned char* readback) const {
  void* device = nullptr;
  const void* host = nullptr;
  library_.must(library_.mutable_gpu_data(object_, &device), "mutable_gpu_data");
  std::memcpy(readback, expected, bytes_);
  driver_.copy(device_, readback, bytes_);
  driver_.synchronize();
  std::memset(host_ - guard_, kPoison, bytes_ + 2 * guard_);
  if (kind_.async) {
    library_.must(library_.async_cpu_pull(object_, static_cast<CUstream_st*>(stream_)), "async_cpu_pull");
    library_.must(library_.wait(object_), "wait");
  }
  library_.must(library_.cpu_data(object_, &host), "cpu_data");
  if (host != host_ || device != device_) return "the object's addresses changed";
  const std::string wrong = difference(host_, expected, bytes_);
  if (!wrong.empty()) return blame(wrong, expected, readback);
  std::string guards = difference_from(host_ - guard_, kPoison, guard_);
  if (guards.empty()) guards = difference_from(host_ + bytes_, kPoison, guard_);
  return guards.empty() ? "" : "beside the range on the host, " + guards;
}

// By cuMemcpy alone, there and back.
std::string Compared::blame(const std::string& wrong, const unsigned char* expected, unsigned char* readback) const {
  std::memcpy(host_, expected, bytes_);
  driver_.copy(device_, host_, bytes_);
  std::memset(readback, 0x77, bytes_);
  driver_.copy(readback, device_, bytes_);
  const std::string raw = difference(readback, expected, bytes_);
  return wrong + (raw.empty() ? "; cuMemcpy gives the right bytes there" : "; cuMemcpy itself does too: " + raw);
}
