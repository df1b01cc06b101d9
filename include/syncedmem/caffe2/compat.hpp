/*
 * Caffe2's names for syncedmem/caffe2.hpp. SPDX-License-Identifier: BSD-2-Clause
 *
 * For code written for Caffe2 v0.8.1: the classes in namespace caffe2, its flags and its macros. docs/caffe2.md lists the names
 * of each header of caffe2/core/ that are there. Nets, operators and logs are not: include glog's header for LOG and CHECK.
 *
 * Include it in place of Caffe2's headers, before caffe2.hpp or without it, in every file that shares the classes: those of
 * caffe2.hpp alone are different types. A program that links libcaffe2 or libtorch has these names already, and includes
 * caffe2.hpp.
 *
 * If caffe2/proto/caffe2.pb.h is found, it is included, and its DeviceOption and DeviceType are used.
 */

#ifndef SYNCEDMEM_CAFFE2_COMPAT_HPP
#define SYNCEDMEM_CAFFE2_COMPAT_HPP

#ifdef SYNCEDMEM_CAFFE2_ERROR_HPP
#error "include syncedmem/caffe2/compat.hpp before syncedmem/caffe2.hpp: it moves the classes to the namespace caffe2"
#endif

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef __has_include
#if __has_include("caffe2/proto/caffe2.pb.h")
#include "caffe2/proto/caffe2.pb.h"
#define SYNCEDMEM_CAFFE2_MESSAGES
#endif
#endif

#include "../caffe2.hpp"

namespace caffe2 {

using std::make_pair;
using std::map;
using std::pair;
using std::set;
using std::shared_ptr;
using std::string;
using std::unique_ptr;
using std::unordered_map;
using std::vector;

inline bool HasCudaGPU() { return syncedmem_cuda_status(nullptr) == SYNCEDMEM_SUCCESS; }

/// The concatenated output of `parts`.
template <typename... Parts>
string MakeString(const Parts&... parts) {
  std::ostringstream text;
  const int in_order[] = {0, ((text << parts), 0)...};
  static_cast<void>(in_order);
  return text.str();
}

/// The output of the items of `all`, with `delimiter` between them.
template <class Container>
string Join(const string& delimiter, const Container& all) {
  std::ostringstream text;
  bool is_first = true;
  for (const auto& each : all) {
    text << (is_first ? string() : delimiter) << each;
    is_first = false;
  }
  return text.str();
}

namespace detail {

/// A flag of Caffe2's: a setting of the process, which is read and assigned like a variable.
struct KeepOnShrink {
  operator bool() const { return read().keep; }
  const KeepOnShrink& operator=(bool keep) const {
    check(syncedmem_tensor_set_keep_on_shrink(keep, read().most));
    return *this;
  }
  struct InForce {
    bool keep;
    std::int64_t most;
  };
  static InForce read() {
    InForce now = InForce();
    check(syncedmem_tensor_get_keep_on_shrink(&now.keep, &now.most));
    return now;
  }
};
struct MaxKeepOnShrink {
  operator std::int64_t() const { return KeepOnShrink::read().most; }
  const MaxKeepOnShrink& operator=(std::int64_t most) const {
    check(syncedmem_tensor_set_keep_on_shrink(KeepOnShrink::read().keep, most));
    return *this;
  }
};
struct ReportMemory {
  const ReportMemory& operator=(bool on) const {
    MemoryAllocationReporter::Report(on);
    return *this;
  }
};

}  // namespace detail

// They have no state, so each translation unit may have its own.
const detail::KeepOnShrink FLAGS_caffe2_keep_on_shrink = {};
const detail::MaxKeepOnShrink FLAGS_caffe2_max_keep_on_shrink_memory = {};
const detail::ReportMemory FLAGS_caffe2_report_cpu_memory_usage = {};

/// The checkers of CAFFE_ENFORCE_THAT, to which code may add its own.
namespace enforce_detail {

struct EnforceOK {};

/// The result of a checker: EnforceOK, or a message.
class EnforceFailMessage {
 public:
  EnforceFailMessage(EnforceOK) : is_bad_(false) {}
  EnforceFailMessage(string message) : is_bad_(true), message_(std::move(message)) {}
  bool bad() const { return is_bad_; }
  /// The message, followed by the text of the macro's caller.
  string message(const string& more) const { return more.empty() ? message_ : message_ + ". " + more; }

 private:
  bool is_bad_;
  string message_;
};

// Callers compare sizes with literals.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define SYNCEDMEM_CAFFE2_CHECKER(name, operation)                 \
  template <typename A, typename B>                               \
  EnforceFailMessage name(const A& a, const B& b) {               \
    if (a operation b) return EnforceOK();                        \
    return MakeString(a, " vs ", b);                              \
  }
SYNCEDMEM_CAFFE2_CHECKER(Equals, ==)
SYNCEDMEM_CAFFE2_CHECKER(NotEquals, !=)
SYNCEDMEM_CAFFE2_CHECKER(Greater, >)
SYNCEDMEM_CAFFE2_CHECKER(GreaterEquals, >=)
SYNCEDMEM_CAFFE2_CHECKER(Less, <)
SYNCEDMEM_CAFFE2_CHECKER(LessEquals, <=)
#undef SYNCEDMEM_CAFFE2_CHECKER
#pragma GCC diagnostic pop

}  // namespace enforce_detail
}  // namespace caffe2

// With gflags, Caffe2's flags are outside of its namespace too.
using caffe2::FLAGS_caffe2_keep_on_shrink;
using caffe2::FLAGS_caffe2_max_keep_on_shrink_memory;
using caffe2::FLAGS_caffe2_report_cpu_memory_usage;

#define CAFFE2_UNUSED __attribute__((__unused__))
#define CAFFE2_ALIGNED(x) __attribute__((__aligned__(x)))
#ifndef DISABLE_COPY_AND_ASSIGN
#define DISABLE_COPY_AND_ASSIGN(classname)   \
  classname(const classname&) = delete;      \
  classname& operator=(const classname&) = delete
#endif

// Types are known without it.
#define CAFFE_KNOWN_TYPE(T) static_assert(sizeof(T) > 0, "a complete type")

// The first of several arguments, and the others followed by an empty text: macros of C++11 take at least one argument.
#define SYNCEDMEM_CAFFE2_FIRST_(first, ...) first
#define SYNCEDMEM_CAFFE2_FIRST(...) SYNCEDMEM_CAFFE2_FIRST_(__VA_ARGS__, "")
#define SYNCEDMEM_CAFFE2_REST_(first, ...) __VA_ARGS__
#define SYNCEDMEM_CAFFE2_REST(...) SYNCEDMEM_CAFFE2_REST_(__VA_ARGS__, "")
#define SYNCEDMEM_CAFFE2_TEXT_(...) #__VA_ARGS__
#define SYNCEDMEM_CAFFE2_TEXT(...) SYNCEDMEM_CAFFE2_TEXT_(__VA_ARGS__)

#define SYNCEDMEM_CAFFE2_THROW(condition, message) throw ::caffe2::EnforceNotMet(__FILE__, __LINE__, condition, message)
#define CAFFE_THROW(...) SYNCEDMEM_CAFFE2_THROW("", ::caffe2::MakeString(__VA_ARGS__))
#define CAFFE_ENFORCE(...)                                                                              \
  do {                                                                                                  \
    if (!(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__)))                                                         \
      SYNCEDMEM_CAFFE2_THROW(SYNCEDMEM_CAFFE2_TEXT(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__)),                \
                             ::caffe2::MakeString(SYNCEDMEM_CAFFE2_REST(__VA_ARGS__)));                 \
  } while (false)
#define SYNCEDMEM_CAFFE2_CHECK(check, condition, ...)                                                   \
  do {                                                                                                  \
    using namespace ::caffe2::enforce_detail;                                                           \
    const EnforceFailMessage syncedmem_checked = (check);                                               \
    if (syncedmem_checked.bad())                                                                        \
      SYNCEDMEM_CAFFE2_THROW(condition, syncedmem_checked.message(::caffe2::MakeString(__VA_ARGS__)));  \
  } while (false)
#define CAFFE_ENFORCE_THAT(...)                                                                         \
  SYNCEDMEM_CAFFE2_CHECK(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__),                                           \
                         SYNCEDMEM_CAFFE2_TEXT(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__)), SYNCEDMEM_CAFFE2_REST(__VA_ARGS__))
#define SYNCEDMEM_CAFFE2_COMPARE(checker, a, operation, ...)                                            \
  SYNCEDMEM_CAFFE2_CHECK(::caffe2::enforce_detail::checker((a), (SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__))), \
                         #a " " #operation " " SYNCEDMEM_CAFFE2_TEXT(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__)), \
                         SYNCEDMEM_CAFFE2_REST(__VA_ARGS__))
#define CAFFE_ENFORCE_EQ(a, ...) SYNCEDMEM_CAFFE2_COMPARE(Equals, a, ==, __VA_ARGS__)
#define CAFFE_ENFORCE_NE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(NotEquals, a, !=, __VA_ARGS__)
#define CAFFE_ENFORCE_LE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(LessEquals, a, <=, __VA_ARGS__)
#define CAFFE_ENFORCE_LT(a, ...) SYNCEDMEM_CAFFE2_COMPARE(Less, a, <, __VA_ARGS__)
#define CAFFE_ENFORCE_GE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(GreaterEquals, a, >=, __VA_ARGS__)
#define CAFFE_ENFORCE_GT(a, ...) SYNCEDMEM_CAFFE2_COMPARE(Greater, a, >, __VA_ARGS__)
#define CAFFE_ENFORCE_WITH_CALLER CAFFE_ENFORCE
#define CAFFE_ENFORCE_EQ_WITH_CALLER CAFFE_ENFORCE_EQ
#define CAFFE_ENFORCE_NE_WITH_CALLER CAFFE_ENFORCE_NE
#define CAFFE_ENFORCE_LE_WITH_CALLER CAFFE_ENFORCE_LE
#define CAFFE_ENFORCE_LT_WITH_CALLER CAFFE_ENFORCE_LT
#define CAFFE_ENFORCE_GE_WITH_CALLER CAFFE_ENFORCE_GE
#define CAFFE_ENFORCE_GT_WITH_CALLER CAFFE_ENFORCE_GT

#endif  // SYNCEDMEM_CAFFE2_COMPAT_HPP
