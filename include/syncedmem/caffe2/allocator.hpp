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

/// The library's account of memory, and Caffe2's line for each allocation on standard error.
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
