/*
 * Part of syncedmem/caffe2.hpp: the host and the device, and copies between them. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_CONTEXT_HPP
#define SYNCEDMEM_CAFFE2_CONTEXT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "allocator.hpp"
#include "error.hpp"
#include "typeid.hpp"

SYNCEDMEM_CAFFE2_BEGIN

#ifndef SYNCEDMEM_CAFFE2_MESSAGES
enum DeviceType { CPU = 0, CUDA = 1 };

/// The device of an operator. With Caffe2's messages (see compat.hpp) their class is used instead.
class DeviceOption {
 public:
  std::int32_t device_type() const { return device_type_; }
  void set_device_type(std::int32_t type) { device_type_ = type; }
  int cuda_gpu_id() const { return cuda_gpu_id_; }
  void set_cuda_gpu_id(int id) { cuda_gpu_id_ = id; }
  bool has_random_seed() const { return has_random_seed_; }
  std::uint32_t random_seed() const { return random_seed_; }
  void set_random_seed(std::uint32_t seed) {
    random_seed_ = seed;
    has_random_seed_ = true;
  }

 private:
  std::int32_t device_type_ = CPU;
  int cuda_gpu_id_ = 0;
  bool has_random_seed_ = false;
  std::uint32_t random_seed_ = 0;
};
#endif

typedef std::mt19937 rand_gen_type;

class CPUContext;
class CUDAContext;

namespace detail {

/// Copies between memory of both sides, through an object that borrows both.
template <class Source, class Target>
void copy_bytes(std::size_t nbytes, const void* source, void* target) {
  if (nbytes == 0) return;
  if (source == nullptr || target == nullptr) refuse("a copy of bytes from or to NULL; pass the addresses of both");
  if (Source::kSide == SYNCEDMEM_HOST && Target::kSide == SYNCEDMEM_HOST) {
    std::memcpy(target, source, nbytes);
    return;
  }
  syncedmem_t* made = nullptr;
  check(syncedmem_create(nbytes, &made));
  const std::unique_ptr<syncedmem_t, syncedmem_status_t (*)(syncedmem_t*)> between(made, syncedmem_destroy);
  // The side that is set last is the newest, and is copied from.
  void* const from = const_cast<void*>(source);
  const void* done = nullptr;
  if (Source::kSide == SYNCEDMEM_HOST) {
    check(syncedmem_set_gpu_data(made, target));
    check(syncedmem_set_cpu_data(made, from));
    check(syncedmem_gpu_data(made, &done));
  } else if (Target::kSide == SYNCEDMEM_HOST) {
    check(syncedmem_set_cpu_data(made, target));
    check(syncedmem_set_gpu_data(made, from));
    check(syncedmem_cpu_data(made, &done));
  } else {
    check(syncedmem_set_gpu_data(made, from));
    check(syncedmem_cpu_data(made, &done));
    copy_bytes<CPUContext, CUDAContext>(nbytes, done, target);
  }
}

}  // namespace detail

/// The host.
class CPUContext final {
 public:
  static constexpr syncedmem_side_t kSide = SYNCEDMEM_HOST;

  CPUContext() : random_seed_(std::random_device()()) {}
  explicit CPUContext(const DeviceOption& option)
      : random_seed_(option.has_random_seed() ? option.random_seed() : std::random_device()()) {
    if (option.device_type() != CPU) detail::refuse("a CPUContext of a device that is no CPU; pass an option for the CPU");
  }

  void SwitchToDevice(int /*stream_id*/ = 0) {}
  void FinishDeviceComputation() {}

  rand_gen_type& RandGenerator() {
    if (!random_generator_) random_generator_.reset(new rand_gen_type(random_seed_));
    return *random_generator_;
  }

  /// Zeros, aligned to at least gCaffe2Alignment and counted in the library's account; and the function that frees them.
  static std::pair<void*, MemoryDeleter> New(std::size_t nbytes) {
    return std::make_pair(detail::answer<void*>(syncedmem_cpu_new, nbytes), MemoryDeleter(Delete));
  }

  template <class SourceContext, class TargetContext>
  void CopyBytes(std::size_t nbytes, const void* source, void* target) {
    detail::copy_bytes<SourceContext, TargetContext>(nbytes, source, target);
  }

  template <typename T, class SourceContext, class TargetContext>
  void Copy(std::size_t n, const T* source, T* target) {
    copy<SourceContext, TargetContext>(n, source, target, detail::is_plain<T>());
  }

  template <class SourceContext, class TargetContext>
  void CopyItems(const TypeMeta& meta, std::size_t n, const void* source, void* target) {
    if (meta.copy() == nullptr) {
      CopyBytes<SourceContext, TargetContext>(n * meta.itemsize(), source, target);
    } else if (!meta.copy()(source, target, n)) {
      detail::check(SYNCEDMEM_ERROR_INVALID_STATE);
    }
  }

 private:
  static void Delete(void* data) { syncedmem_cpu_delete(data); }

  template <class SourceContext, class TargetContext, typename T>
  void copy(std::size_t n, const T* source, T* target, std::true_type) {
    CopyBytes<SourceContext, TargetContext>(n * sizeof(T), source, target);
  }
  template <class SourceContext, class TargetContext, typename T>
  void copy(std::size_t n, const T* source, T* target, std::false_type) {
    std::copy(source, source + n, target);
  }

  std::uint32_t random_seed_;
  std::unique_ptr<rand_gen_type> random_generator_;
};

/// The GPU that is current on the calling thread. Copies are done when they return, so there is no stream to wait for.
class CUDAContext final {
 public:
  static constexpr syncedmem_side_t kSide = SYNCEDMEM_DEVICE;

  explicit CUDAContext(int gpu_id = -1) : gpu_id_(gpu_id) {}
  explicit CUDAContext(const DeviceOption& option) : gpu_id_(option.cuda_gpu_id()) {}

  int cuda_gpu_id() const { return gpu_id_; }
  /// Does nothing: memory is made on the device of the thread's CUDA context, which cudaSetDevice selects.
  void SwitchToDevice(int /*stream_id*/ = 0) {}
  void FinishDeviceComputation() {}

  static std::pair<void*, MemoryDeleter> New(std::size_t nbytes) {
    syncedmem_t* memory = nullptr;
    detail::check(syncedmem_create(nbytes, &memory));
    const std::shared_ptr<syncedmem_t> held(memory, syncedmem_destroy);
    return std::make_pair(detail::answer<void*>(syncedmem_overwrite_gpu_data, memory), MemoryDeleter(End{held}));
  }

  template <class SourceContext, class TargetContext>
  void CopyBytes(std::size_t nbytes, const void* source, void* target) {
    detail::copy_bytes<SourceContext, TargetContext>(nbytes, source, target);
  }
  template <typename T, class SourceContext, class TargetContext>
  void Copy(std::size_t n, const T* source, T* target) {
    CopyBytes<SourceContext, TargetContext>(n * sizeof(T), source, target);
  }
  template <class SourceContext, class TargetContext>
  void CopyItems(const TypeMeta& meta, std::size_t n, const void* source, void* target) {
    if (meta.copy() != nullptr) detail::refuse("items with constructors are on the host alone; use a CPUContext");
    CopyBytes<SourceContext, TargetContext>(n * meta.itemsize(), source, target);
  }

 private:
  struct End {
    std::shared_ptr<syncedmem_t> held;
    void operator()(void*) { held.reset(); }
  };

  int gpu_id_;
};

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_CONTEXT_HPP
