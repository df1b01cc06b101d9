#include "page_locked.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

const std::size_t kPage = 4096, kHuge = 2 * 1024 * 1024;
const int kPopulateWrite = 23;  // MADV_POPULATE_WRITE: Linux 5.14, and younger than some C libraries' headers

// A mapping at a multiple of 2 MiB.
char* mapping(std::size_t bytes) {
  void* const found =
      mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) die("there is no host memory");
  char* const first = static_cast<char*>(found);
  char* const start = first + (kHuge - reinterpret_cast<std::uintptr_t>(first) % kHuge) % kHuge;
  if (start > first) munmap(first, static_cast<std::size_t>(start - first));
  munmap(start + bytes, static_cast<std::size_t>(first + kHuge - start));
  return start;
}

void populate(char* start, std::size_t bytes) {
  if (madvise(start, bytes, kPopulateWrite) == 0) return;
  for (std::size_t at = 0; at < bytes; at += kPage) *static_cast<volatile char*>(start + at) = 0;
}

}  // namespace

const char* name_of(Way way) {
  switch (way) {
    case kAllocated: return "cuMemHostAlloc";
    case kRegisteredHuge: return "registered, huge pages";
    case kRegisteredSmall: return "registered, small pages";
  }
  return "";
}

void* acquire(const Driver& driver, Way way, std::size_t bytes) {
  if (way == kAllocated) return driver.allocate_pinned(bytes);
  char* const start = mapping(bytes);
  // Without huge pages the advice is refused.
  madvise(start, bytes, way == kRegisteredHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  populate(start, bytes);
  if (driver.register_host(start, bytes) == 0) return start;
  munmap(start, bytes);
  return nullptr;
}

void give_back(const Driver& driver, Way way, void* address, std::size_t bytes) {
  if (way == kAllocated) return driver.free_pinned(address);
  driver.unregister_host(address);
  munmap(address, bytes);
}

long huge_bytes(const void* address) {
  std::FILE* file = std::fopen("/proc/self/smaps", "r");
  if (file == nullptr) return -1;
  const unsigned long wanted = static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(address));
  char line[512];
  bool inside = false;
  long kibibytes = -1;
  while (kibibytes < 0 && std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from <= wanted && wanted < to;
    if (inside) std::sscanf(line, "AnonHugePages: %ld kB", &kibibytes);
  }
  std::fclose(file);
  return kibibytes < 0 ? -1 : kibibytes * 1024;
}
