// A piece of memory of each kind.
#ifndef DEVICE_BENCH_MEMORIES_HPP_
#define DEVICE_BENCH_MEMORIES_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "libraries.hpp"

struct Memory {
  std::string kind;
  void* address;
};

// Of every kind that can be had.
class Memories {
 public:
  Memories(const Driver& driver, std::size_t bytes);
  ~Memories();
  Memories(const Memories&) = delete;
  Memories& operator=(const Memories&) = delete;

  const std::vector<Memory>& all() const { return all_; }
  // Null where there is none.
  void* of(const std::string& kind) const;

 private:
  const Driver& driver_;
  std::vector<Memory> all_;
};

// cuMemFree frees it; null where there is none.
void* allocate_managed(const Driver& driver, std::size_t bytes);

#endif  // DEVICE_BENCH_MEMORIES_HPP_
