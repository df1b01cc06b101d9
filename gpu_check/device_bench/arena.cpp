#include "arena.hpp"

#include <cstdlib>

#include "memories.hpp"

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
