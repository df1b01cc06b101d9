#include "arena.hpp"

#include <cstdlib>

namespace {

// cuMemFree frees it; null where there is none.
void* allocate_managed(const Driver& driver, std::size_t bytes) {
  Driver::Status (*allocate)(Driver::Address*, std::size_t, unsigned);
  const unsigned kAttachGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
  Driver::Address address = 0;
  if (!driver.entry("cuMemAllocManaged", allocate) || allocate(&address, bytes, kAttachGlobal) != 0) return nullptr;
  return reinterpret_cast<void*>(address);
}

}  // namespace


const std::size_t Arena::kGuard;

namespace {

unsigned char* allocated(std::size_t bytes) {
  void* address = std::malloc(bytes);
  if (address == nullptr) die("there is no host memory");
  return static_cast<unsigned char*>(address);
}

}  // namespace

Arena::Arena(const Driver& driver, const Kind& kind, std::size_t bytes) : driver_(driver), kind_(kind) {
  if (kind.own()) return;
  const std::size_t room = bytes + kSlack;
  device_ = static_cast<unsigned char*>(kind.managed ? allocate_managed(driver, room) : driver.allocate(room));
  usable_ = device_ != nullptr;
  if (!usable_) return;
  const bool pinned = kind.host == Kind::kCallersPinned;
  host_ = pinned ? static_cast<unsigned char*>(driver.allocate_pinned(room)) : allocated(room);
}

Arena::~Arena() {
  if (device_ != nullptr) driver_.free(device_);
  if (host_ == nullptr) return;
  if (kind_.host == Kind::kCallersPinned) {
    driver_.free_pinned(host_);
  } else {
    std::free(host_);
  }
}

Readback::Readback(const Driver& driver, std::size_t bytes, bool pinned)
    : driver_(driver),
      pinned_(pinned),
      address_(pinned ? static_cast<unsigned char*>(driver.allocate_pinned(bytes)) : allocated(bytes)) {}

Readback::~Readback() {
  if (pinned_) {
    driver_.free_pinned(address_);
  } else {
    std::free(address_);
  }
}
