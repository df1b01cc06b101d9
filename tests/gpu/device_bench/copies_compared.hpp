// One copy by the library, compared with cuMemcpy.
#ifndef DEVICE_BENCH_COPIES_COMPARED_HPP_
#define DEVICE_BENCH_COPIES_COMPARED_HPP_

#include <cstddef>
#include <string>

#include "arena.hpp"
#include "pattern.hpp"

// Its sides lie in an arena, or are its own.
class Compared {
 public:
  // For the kinds that push and pull.
  Compared(const Library& library, const Driver& driver, const Kind& kind, const Arena& arena, std::size_t bytes,
           std::size_t host_misaligned, std::size_t device_misaligned, void* stream);
  ~Compared();
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  // The library copies to the device, cuMemcpy fetches. Empty, or what is wrong.
  std::string to_device(const unsigned char* expected, unsigned char* readback) const;
  // cuMemcpy writes the device, the library copies to the host.
  std::string to_host(const unsigned char* expected, unsigned char* readback) const;
  // Empty if its memory is of that kind.
  const std::string& not_as_asked() const { return not_as_asked_; }

 private:
  std::string blame(const std::string& wrong, const unsigned char* expected, unsigned char* readback) const;
  void fill_device() const;

  const Library& library_;
  const Driver& driver_;
  const Kind kind_;
  const std::size_t bytes_, guard_;
  void* const stream_;
  syncedmem_t* object_ = nullptr;
  unsigned char* host_ = nullptr;
  unsigned char* device_ = nullptr;
  std::string not_as_asked_;
};

#endif  // DEVICE_BENCH_COPIES_COMPARED_HPP_
