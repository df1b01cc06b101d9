/*
 * Part of syncedmem/caffe2.hpp: failures. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_ERROR_HPP
#define SYNCEDMEM_CAFFE2_ERROR_HPP

#include <exception>
#include <stdexcept>
#include <string>

#include "syncedmem_caffe2.h"

namespace syncedmem {
namespace caffe2 {

/// A rule that was not kept, or memory that ran out: Caffe2's only exception.
class EnforceNotMet : public std::runtime_error {
 public:
  EnforceNotMet(syncedmem_status_t status, const std::string& message) : std::runtime_error(message), status_(status) {}

  /// The library's status; SYNCEDMEM_ERROR_INVALID_STATE for a CAFFE_ENFORCE of the caller's own.
  syncedmem_status_t status() const noexcept { return status_; }

 private:
  syncedmem_status_t status_;
};

namespace detail {

/// The exception that a constructor or assignment of the caller's type threw in a call of the library on this thread. No
/// exception crosses the library, so it waits here for `check`.
inline std::exception_ptr& pending() {
  static thread_local std::exception_ptr thrown;
  return thrown;
}

/// Throws unless `status` is success: the pending exception, or EnforceNotMet with the library's sentence.
inline void check(syncedmem_status_t status) {
  if (status == SYNCEDMEM_SUCCESS) return;
  if (pending()) {
    std::exception_ptr thrown;
    thrown.swap(pending());
    std::rethrow_exception(thrown);
  }
  throw EnforceNotMet(status, syncedmem_last_error());
}

[[noreturn]] inline void refuse(const std::string& message) {
  throw EnforceNotMet(SYNCEDMEM_ERROR_INVALID_ARGUMENT, message);
}

}  // namespace detail
}  // namespace caffe2
}  // namespace syncedmem

#endif  // SYNCEDMEM_CAFFE2_ERROR_HPP
