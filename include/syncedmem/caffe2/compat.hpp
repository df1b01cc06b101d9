/*
 * Caffe2's names for syncedmem/caffe2.hpp. SPDX-License-Identifier: BSD-2-Clause
 *
 * For code written for Caffe2: the namespace caffe2, its flags, and its macros over exceptions and types.
 *
 * Include it in the place of caffe2/core/{allocator,blob,context,context_gpu,logging,tensor,typeid,types,workspace}.h.
 */

#ifndef SYNCEDMEM_CAFFE2_COMPAT_HPP
#define SYNCEDMEM_CAFFE2_COMPAT_HPP

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

#include "../caffe2.hpp"

namespace syncedmem {
namespace caffe2 {
namespace detail {

/// A flag of Caffe2's: a setting of the process, which is read and assigned like a variable.
struct KeepOnShrink {
  operator bool() const { return read().keep; }
  KeepOnShrink& operator=(bool keep) {
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
  MaxKeepOnShrink& operator=(std::int64_t most) {
    check(syncedmem_tensor_set_keep_on_shrink(KeepOnShrink::read().keep, most));
    return *this;
  }
};
struct ReportMemory {
  ReportMemory& operator=(bool on) {
    MemoryAllocationReporter::Report(on);
    return *this;
  }
};

/// Its static members are one object in every translation unit.
template <typename Unused>
struct Flags {
  static KeepOnShrink keep_on_shrink;
  static MaxKeepOnShrink max_keep_on_shrink;
  static ReportMemory report_memory;
};
template <typename Unused>
KeepOnShrink Flags<Unused>::keep_on_shrink;
template <typename Unused>
MaxKeepOnShrink Flags<Unused>::max_keep_on_shrink;
template <typename Unused>
ReportMemory Flags<Unused>::report_memory;

template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  const int in_order[] = {((text << parts), 0)...};
  static_cast<void>(in_order);
  return text.str();
}

[[noreturn]] inline void not_met(const char* file, int line, const char* condition, const std::string& message) {
  throw EnforceNotMet(SYNCEDMEM_ERROR_INVALID_STATE,
                      text_of("[enforce fail at ", file, ":", line, "] ", condition, ". ", message));
}

}  // namespace detail
}  // namespace caffe2
}  // namespace syncedmem

namespace caffe2 {
using namespace ::syncedmem::caffe2;  // NOLINT
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
}  // namespace caffe2

#define FLAGS_caffe2_keep_on_shrink (::syncedmem::caffe2::detail::Flags<void>::keep_on_shrink)
#define FLAGS_caffe2_max_keep_on_shrink_memory (::syncedmem::caffe2::detail::Flags<void>::max_keep_on_shrink)
#define FLAGS_caffe2_report_cpu_memory_usage (::syncedmem::caffe2::detail::Flags<void>::report_memory)

#define CAFFE2_UNUSED __attribute__((__unused__))
#define CAFFE2_ALIGNED(x) __attribute__((__aligned__(x)))
#ifndef DISABLE_COPY_AND_ASSIGN
#define DISABLE_COPY_AND_ASSIGN(classname)   \
  classname(const classname&) = delete;      \
  classname& operator=(const classname&) = delete
#endif

// Types are known without it.
#define CAFFE_KNOWN_TYPE(T) static_assert(sizeof(T) > 0, "a complete type")

// The first of several arguments, and the others with an empty text behind them: macros of C++11 take one argument at least.
#define SYNCEDMEM_CAFFE2_FIRST_(first, ...) first
#define SYNCEDMEM_CAFFE2_FIRST(...) SYNCEDMEM_CAFFE2_FIRST_(__VA_ARGS__, "")
#define SYNCEDMEM_CAFFE2_REST_(first, ...) __VA_ARGS__
#define SYNCEDMEM_CAFFE2_REST(...) SYNCEDMEM_CAFFE2_REST_(__VA_ARGS__, "")

#define SYNCEDMEM_CAFFE2_NOT_MET(condition, ...)                           \
  ::syncedmem::caffe2::detail::not_met(__FILE__, __LINE__, condition, \
                                       ::syncedmem::caffe2::detail::text_of(__VA_ARGS__))
#define CAFFE_THROW(...) SYNCEDMEM_CAFFE2_NOT_MET("", __VA_ARGS__)
#define CAFFE_ENFORCE(...)                                                               \
  do {                                                                                   \
    if (!(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__)))                                          \
      SYNCEDMEM_CAFFE2_NOT_MET(#__VA_ARGS__, SYNCEDMEM_CAFFE2_REST(__VA_ARGS__));        \
  } while (false)
#define SYNCEDMEM_CAFFE2_COMPARE(a, operation, ...)                                      \
  do {                                                                                   \
    if (!((a)operation(SYNCEDMEM_CAFFE2_FIRST(__VA_ARGS__))))                            \
      SYNCEDMEM_CAFFE2_NOT_MET(#a " " #operation " " #__VA_ARGS__,                       \
                               SYNCEDMEM_CAFFE2_REST(__VA_ARGS__));                      \
  } while (false)
#define CAFFE_ENFORCE_EQ(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, ==, __VA_ARGS__)
#define CAFFE_ENFORCE_NE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, !=, __VA_ARGS__)
#define CAFFE_ENFORCE_LE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, <=, __VA_ARGS__)
#define CAFFE_ENFORCE_LT(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, <, __VA_ARGS__)
#define CAFFE_ENFORCE_GE(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, >=, __VA_ARGS__)
#define CAFFE_ENFORCE_GT(a, ...) SYNCEDMEM_CAFFE2_COMPARE(a, >, __VA_ARGS__)
#define CAFFE_ENFORCE_WITH_CALLER CAFFE_ENFORCE
#define CAFFE_ENFORCE_EQ_WITH_CALLER CAFFE_ENFORCE_EQ
#define CAFFE_ENFORCE_NE_WITH_CALLER CAFFE_ENFORCE_NE
#define CAFFE_ENFORCE_LE_WITH_CALLER CAFFE_ENFORCE_LE
#define CAFFE_ENFORCE_LT_WITH_CALLER CAFFE_ENFORCE_LT
#define CAFFE_ENFORCE_GE_WITH_CALLER CAFFE_ENFORCE_GE
#define CAFFE_ENFORCE_GT_WITH_CALLER CAFFE_ENFORCE_GT

#endif  // SYNCEDMEM_CAFFE2_COMPAT_HPP
