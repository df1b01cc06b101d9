/*
 * Part of syncedmem/caffe2.hpp: failures. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_ERROR_HPP
#define SYNCEDMEM_CAFFE2_ERROR_HPP

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "syncedmem_caffe2.h"

// The namespace of all classes is syncedmem::caffe2. With compat.hpp it is caffe2, where code written for Caffe2 may
// forward-declare them, and syncedmem::caffe2 is an alias.
#ifdef SYNCEDMEM_CAFFE2_COMPAT_HPP
namespace caffe2 {}
namespace syncedmem {
namespace caffe2 = ::caffe2;
}
#define SYNCEDMEM_CAFFE2_BEGIN namespace caffe2 {
#define SYNCEDMEM_CAFFE2_END }
#else
#define SYNCEDMEM_CAFFE2_BEGIN \
  namespace syncedmem {        \
  namespace caffe2 {
#define SYNCEDMEM_CAFFE2_END \
  }                          \
  }
#endif

SYNCEDMEM_CAFFE2_BEGIN

/// A rule that was not kept, or memory that ran out: Caffe2's only exception.
class EnforceNotMet : public std::exception {
 public:
  EnforceNotMet(syncedmem_status_t status, std::string message) : status_(status), msg_stack_{message}, msg_(std::move(message)) {}
  /// A condition in code that was false.
  EnforceNotMet(const char* file, int line, const char* condition, const std::string& message)
      : EnforceNotMet(SYNCEDMEM_ERROR_INVALID_STATE, "[enforce fail at " + name_of(file) + ":" + std::to_string(line) + "] " +
                                                         condition + ". " + message) {}

  /// Adds to the message.
  void AppendMessage(const std::string& message) {
    msg_stack_.push_back(message);
    msg_ += message;
  }
  std::string msg() const { return msg_; }
  const std::vector<std::string>& msg_stack() const noexcept { return msg_stack_; }
  const char* what() const noexcept override { return msg_.c_str(); }

  /// The library's status; SYNCEDMEM_ERROR_INVALID_STATE for a condition in code.
  syncedmem_status_t status() const noexcept { return status_; }

 private:
  static std::string name_of(const std::string& file) { return file.substr(file.rfind('/') + 1); }

  syncedmem_status_t status_;
  std::vector<std::string> msg_stack_;
  std::string msg_;
};

namespace detail {

/// The exception that a constructor or assignment of the caller's type threw in a call of the library on this thread. No
/// exception crosses the library, so `check` throws it again.
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

/// The result that a function of the C API writes through its last argument.
template <typename Answer, typename Function, typename... Arguments>
Answer answer(Function* function, Arguments... arguments) {
  Answer answer = Answer();
  check(function(arguments..., &answer));
  return answer;
}

[[noreturn]] inline void refuse(const std::string& message) {
  throw EnforceNotMet(SYNCEDMEM_ERROR_INVALID_ARGUMENT, message);
}

}  // namespace detail
SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_ERROR_HPP
