/*
 * Part of syncedmem/caffe2.hpp: the alignment and the account of host memory. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_ALLOCATOR_HPP
#define SYNCEDMEM_CAFFE2_ALLOCATOR_HPP

#include <cstddef>
#include <functional>

#include "error.hpp"

SYNCEDMEM_CAFFE2_BEGIN

/// The smallest alignment of host memory.
constexpr std::size_t gCaffe2Alignment = 32;

using MemoryDeleter = std::function<void(void*)>;

<<<<<<< HEAD
/// The library's account of memory, and Caffe2's line for each allocation on standard error.
=======
/// A program's own allocator of host memory: see SetCPUAllocator.
struct CPUAllocator {
  virtual ~CPUAllocator() noexcept {}
  /// A block, and what frees it.
  virtual std::pair<void*, MemoryDeleter> New(std::size_t nbytes) = 0;
  /// Caffe2's last commits ask for this one too. It is not called.
  virtual MemoryDeleter GetDeleter() { return nullptr; }
};

/// Caffe2's own allocator: zeros of the C library.
struct DefaultCPUAllocator final : CPUAllocator {
  std::pair<void*, MemoryDeleter> New(std::size_t nbytes) override {
    void* data = nullptr;
    if (posix_memalign(&data, gCaffe2Alignment, std::max<std::size_t>(nbytes, 1)) != 0) {
      throw EnforceNotMet(SYNCEDMEM_ERROR_OUT_OF_MEMORY, "no memory for " + std::to_string(nbytes) + " bytes");
    }
    std::memset(data, 0, nbytes);
    return std::make_pair(data, MemoryDeleter(std::free));
  }
};

namespace detail {

/// A program's allocator behind the library's hook. The library may call it as long as the process lives, so it is never
/// destroyed; the allocator is, once another one is set and its last block is free.
class AllocatorHook {
 public:
  AllocatorHook(std::unique_ptr<CPUAllocator> allocator, const AllocatorHook* before)
      : before_(before), allocator_(std::move(allocator)) {}

  CPUAllocator* allocator() const { return allocator_.get(); }

  syncedmem_host_allocator_t c() {
    syncedmem_host_allocator_t table = syncedmem_host_allocator_t();
    table.size = sizeof table;
    table.allocate = allocate;
    table.release = release;
    table.context = this;
    return table;
  }

  void retire() { end(nullptr, true); }

  /// The one that is set.
  struct Set {
    std::mutex mutex;
    AllocatorHook* current = nullptr;
    AllocatorHook* last = nullptr;
  };
  static Set& set() {
    static Set& set = *new Set();
    return set;
  }

 private:
  struct Block {
    void* made;
    MemoryDeleter deleter;
  };

  static void* allocate(std::size_t bytes, std::size_t alignment, void* context) {
    try {
      void* const block = static_cast<AllocatorHook*>(context)->make(bytes, alignment);
      // The library may have tried before, and have made room since.
      pending() = nullptr;
      return block;
    } catch (...) {
      pending() = std::current_exception();
      return nullptr;
    }
  }
  static void release(void* block, std::size_t, void* context) { static_cast<AllocatorHook*>(context)->end(block, false); }

  void* make(std::size_t bytes, std::size_t alignment) {
    const std::shared_ptr<CPUAllocator> allocator = present();
    std::pair<void*, MemoryDeleter> made = allocator->New(bytes);
    void* block = made.first;
    if (block == nullptr) return nullptr;
    if (reinterpret_cast<std::uintptr_t>(block) % alignment != 0) {
      // Allocators written for Caffe2 align to 32 bytes or less.
      made.second(made.first);
      made = allocator->New(bytes + alignment);
      block = made.first;
      std::size_t room = bytes + alignment;
      if (block == nullptr || std::align(alignment, bytes, block, room) == nullptr) return nullptr;
    }
    try {
      const std::lock_guard<std::mutex> alone(mutex_);
      blocks_[block] = Block{made.first, made.second};
    } catch (...) {
      made.second(made.first);
      throw;
    }
    return block;
  }

  std::shared_ptr<CPUAllocator> present() {
    const std::lock_guard<std::mutex> alone(mutex_);
    // A thread that took the table just before it was replaced may still come.
    return allocator_ ? allocator_ : std::make_shared<DefaultCPUAllocator>();
  }

  void end(void* block, bool retires) {
    Block ended = Block();
    std::shared_ptr<CPUAllocator> allocator;
    {
      const std::lock_guard<std::mutex> alone(mutex_);
      is_retired_ = is_retired_ || retires;
      const auto found = blocks_.find(block);
      if (found != blocks_.end()) {
        ended = std::move(found->second);
        blocks_.erase(found);
      }
      if (is_retired_ && blocks_.empty()) allocator.swap(allocator_);
    }
    if (ended.deleter) ended.deleter(ended.made);
  }

  /// Keeps it reachable, so that no search for leaks reports it.
  const AllocatorHook* const before_;
  std::mutex mutex_;
  std::shared_ptr<CPUAllocator> allocator_;
  std::unordered_map<void*, Block> blocks_;
  bool is_retired_ = false;
};

}  // namespace detail

/// The allocator of SetCPUAllocator, or Caffe2's own. It belongs to the library.
inline CPUAllocator* GetCPUAllocator() {
  static DefaultCPUAllocator own;
  detail::AllocatorHook::Set& set = detail::AllocatorHook::set();
  const std::lock_guard<std::mutex> alone(set.mutex);
  return set.current == nullptr ? &own : set.current->allocator();
}

/// Makes later host memory come from `allocator`, of every object of the library; null: from the library again. Memory that
/// there is goes back where it came from. The allocator is destroyed once it is replaced and has no block.
inline void SetCPUAllocator(CPUAllocator* allocator) {
  std::unique_ptr<CPUAllocator> given(allocator);
  detail::AllocatorHook::Set& set = detail::AllocatorHook::set();
  std::unique_lock<std::mutex> alone(set.mutex);
  detail::AllocatorHook* const before = set.current;
  if (given) {
    std::unique_ptr<detail::AllocatorHook> next(new detail::AllocatorHook(std::move(given), set.last));
    const syncedmem_host_allocator_t table = next->c();
    detail::check(syncedmem_set_host_allocator(&table));
    set.current = set.last = next.release();
  } else {
    detail::check(syncedmem_set_host_allocator(nullptr));
    set.current = nullptr;
  }
  alone.unlock();
  // This may destroy the old allocator, so it holds no lock.
  if (before != nullptr) before->retire();
}

/// The library's account of memory, and Caffe2's report of allocations on standard error.
>>>>>>> 85818a6a (Say in whole sentences what the C++ classes do)
class MemoryAllocationReporter {
 public:
  /// Switches the report, which is off by default: a line for each allocation.
  static void Report(bool on) { detail::check(syncedmem_tensor_report_allocations(on)); }

  /// Bytes that the library's objects hold, on all sides: from the account, which has to be on.
  static std::size_t Allocated() {
    syncedmem_stats_t stats = syncedmem_stats_t();
    stats.size = sizeof stats;
    detail::check(syncedmem_stats(&stats));
    return static_cast<std::size_t>(stats.pageable.live + stats.pinned.live + stats.device.live);
  }
};

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_ALLOCATOR_HPP
