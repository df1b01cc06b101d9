#include "memories.hpp"

#include <cstdlib>
#include <cstring>

#include "report.hpp"

namespace {

const std::size_t kPage = 4096;

void* pages(std::size_t bytes) {
  void* address = nullptr;
  if (posix_memalign(&address, kPage, (bytes + kPage - 1) / kPage * kPage) != 0) die("there is no host memory");
  std::memset(address, 0x5a, bytes);
  return address;
}

}  // namespace

void* allocate_managed(const Driver& driver, std::size_t bytes) {
  Driver::Status (*allocate)(Driver::Address*, std::size_t, unsigned);
  const unsigned kAttachGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
  Driver::Address address = 0;
  if (!driver.entry("cuMemAllocManaged", allocate) || allocate(&address, bytes, kAttachGlobal) != 0) return nullptr;
  return reinterpret_cast<void*>(address);
}

Memories::Memories(const Driver& driver, std::size_t bytes) : driver_(driver) {
  all_ = {{"device", driver.allocate(bytes)}, {"pinned", driver.allocate_pinned(bytes)}};
  void* const registered = pages(bytes);
  if (const Driver::Status status = driver.register_host(registered, bytes)) {
    report::skipped("registered memory", "cuMemHostRegister returned " + std::to_string(status));
    std::free(registered);
  } else {
    all_.push_back({"registered", registered});
  }
  if (void* managed = allocate_managed(driver, bytes)) all_.push_back({"managed", managed});
  else report::skipped("managed memory", "the driver has none");
  all_.push_back({"pageable", pages(bytes)});
}

Memories::~Memories() {
  driver_.free(of("device"));
  driver_.free_pinned(of("pinned"));
  if (void* registered = of("registered")) {
    driver_.unregister_host(registered);
    std::free(registered);
  }
  if (void* managed = of("managed")) driver_.free(managed);
  std::free(of("pageable"));
}

void* Memories::of(const std::string& kind) const {
  for (const Memory& memory : all_) {
    if (memory.kind == kind) return memory.address;
  }
  return nullptr;
}
