/*
 * libsyncedmem for C++11 and later, without Caffe. SPDX-License-Identifier: BSD-2-Clause
 *
 * One header-only class over the C API of syncedmem.h. It owns its object. Failures are exceptions: out_of_memory,
 * std::invalid_argument, or error with another status; each function lists the statuses of its own.
 *
 *     syncedmem::SyncedMemory weights(1000 * sizeof(float));
 *     float* w = weights.mutable_cpu_data<float>();   // zeros
 *     w[0] = 1.0f;
 *
 * Pointers to data belong to the object, and live as long as it does, also after a move. Const functions may run on many
 * threads at once, every other one needs the object alone. A moved-from object may be destroyed, assigned to, swapped and
 * tested (operator bool, get), and release() returns NULL; all other functions throw std::invalid_argument.
 */

#ifndef SYNCEDMEM_HPP
#define SYNCEDMEM_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncedmem.h"

namespace syncedmem {

/// Memory ran out. The exception holds the library's sentence in itself, so that a copy never allocates.
class out_of_memory : public std::bad_alloc {
 public:
  /// Copies what fits of `message`.
  explicit out_of_memory(const char* message) noexcept {
    std::strncpy(message_, message, sizeof message_ - 1);
    message_[sizeof message_ - 1] = '\0';
  }
  const char* what() const noexcept override { return message_; }

 private:
  char message_[1024];
};

/// Every other failure: no GPU, a failed driver call, a head that forbids the call, …
class error : public std::runtime_error {
 public:
  error(syncedmem_status_t status, const char* message) : std::runtime_error(message), status_(status) {}
  syncedmem_status_t status() const noexcept { return status_; }

 private:
  syncedmem_status_t status_;
};

/// Throws the thread's last error, unless `status` is a success.
inline void check(syncedmem_status_t status) {
  switch (status) {
    case SYNCEDMEM_SUCCESS:
      return;
    case SYNCEDMEM_ERROR_OUT_OF_MEMORY:
      throw out_of_memory(syncedmem_last_error());
    case SYNCEDMEM_ERROR_INVALID_ARGUMENT:
      throw std::invalid_argument(syncedmem_last_error());
    default:
      throw error(status, syncedmem_last_error());
  }
}

/// Whether CUDA can be used. Loads the driver if it is not loaded yet.
inline bool has_cuda() noexcept { return syncedmem_cuda_status(nullptr) == SYNCEDMEM_SUCCESS; }

/// The driver's version and its devices, or why no GPU can be used: a static string.
inline const char* cuda_status() noexcept {
  const char* sentence = "";
  syncedmem_cuda_status(&sentence);
  return sentence;
}

/// The heads by Caffe's names. A template, because C++11 lets only templates define static members in a header.
template <typename>
struct CaffeHeads {
  typedef syncedmem_head_t SyncedHead;
  static const syncedmem_head_t UNINITIALIZED = SYNCEDMEM_UNINITIALIZED;
  static const syncedmem_head_t HEAD_AT_CPU = SYNCEDMEM_HEAD_AT_CPU;
  static const syncedmem_head_t HEAD_AT_GPU = SYNCEDMEM_HEAD_AT_GPU;
  static const syncedmem_head_t SYNCED = SYNCEDMEM_SYNCED;
};
template <typename Unused>
const syncedmem_head_t CaffeHeads<Unused>::UNINITIALIZED;
template <typename Unused>
const syncedmem_head_t CaffeHeads<Unused>::HEAD_AT_CPU;
template <typename Unused>
const syncedmem_head_t CaffeHeads<Unused>::HEAD_AT_GPU;
template <typename Unused>
const syncedmem_head_t CaffeHeads<Unused>::SYNCED;

/// A buffer with a host side and a device side, each allocated at its first access and copied only when the other side
/// is newer. Move-only; sizes are in bytes.
class SyncedMemory : public CaffeHeads<void> {
 public:
  /// An object of no bytes, whose host data nevertheless has an address.
  SyncedMemory() : SyncedMemory(0) {}

  /// An object of `bytes` bytes on each side; neither is allocated yet.
  explicit SyncedMemory(std::size_t bytes) : handle_(nullptr) { check(syncedmem_create(bytes, &handle_)); }

  /// Takes ownership of a handle of syncedmem_create, or of NULL.
  static SyncedMemory adopt(syncedmem_t* handle) noexcept { return SyncedMemory(handle, Adopted()); }

  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  SyncedMemory(SyncedMemory&& other) noexcept : handle_(other.release()) {}
  SyncedMemory& operator=(SyncedMemory&& other) noexcept {
    SyncedMemory ends_here(std::move(other));
    ends_here.swap(*this);
    return *this;
  }

  /// Frees the memory that the object owns; borrowed memory stays.
  ~SyncedMemory() { syncedmem_destroy(handle_); }

  void swap(SyncedMemory& other) noexcept { std::swap(handle_, other.handle_); }

  /// The handle, for the C API. This object still owns it.
  syncedmem_t* get() const noexcept { return handle_; }

  /// Transfers ownership of the handle to the caller, who destroys it with syncedmem_destroy.
  syncedmem_t* release() noexcept {
    syncedmem_t* handle = handle_;
    handle_ = nullptr;
    return handle;
  }

  /// False if the object was moved from or released.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The size of each side in bytes.
  std::size_t size() const { return answer(syncedmem_size); }

  /// Number of whole elements of `T` on each side.
  template <typename T>
  std::size_t count() const {
    return size() / sizeof(T);
  }

  /// Where the newest data is.
  syncedmem_head_t head() const { return answer(syncedmem_head); }

  /// The host data, for reading: zeros before the first write.
  template <typename T = void>
  const T* cpu_data() const {
    return static_cast<const T*>(answer(syncedmem_cpu_data));
  }

  /// The host data, for reading and writing; the host is then the newest side.
  template <typename T = void>
  T* mutable_cpu_data() {
    return static_cast<T*>(answer(syncedmem_mutable_cpu_data));
  }

  /// The host data, to be overwritten: neither zeroed nor copied.
  template <typename T = void>
  T* overwrite_cpu_data() {
    return static_cast<T*>(answer(syncedmem_overwrite_cpu_data));
  }

  /// The device data, for reading: zeros before the first write; null for size 0. Throws error (NO_GPU).
  template <typename T = void>
  const T* gpu_data() const {
    return static_cast<const T*>(answer(syncedmem_gpu_data));
  }

  /// The device data, for reading and writing; the device is then the newest side.
  template <typename T = void>
  T* mutable_gpu_data() {
    return static_cast<T*>(answer(syncedmem_mutable_gpu_data));
  }

  /// The device data, to be overwritten: neither zeroed nor copied.
  template <typename T = void>
  T* overwrite_gpu_data() {
    return static_cast<T*>(answer(syncedmem_overwrite_gpu_data));
  }

  /// Borrows the caller's memory of size() bytes as the host side, which is then the newest. An owned host block is
  /// freed. Throws error (EXPORTED).
  void set_cpu_data(void* data) { check(syncedmem_set_cpu_data(handle_, data)); }

  /// As set_cpu_data, for the device side.
  void set_gpu_data(void* data) { check(syncedmem_set_gpu_data(handle_, data)); }

  /// Starts a copy from host to device on `stream` (null: the legacy default stream). Synchronize the stream before you
  /// use the device data. Throws error (INVALID_STATE).
  void async_gpu_push(CUstream_st* stream) { check(syncedmem_async_gpu_push(handle_, stream)); }

  /// Starts a copy from device to host on `stream` (null: the legacy default stream), which cpu_data, wait or is_ready
  /// completes; until then the device stays the newest side. Does nothing if the host is current, or such a copy is in
  /// flight. Throws error (INVALID_STATE).
  void async_cpu_pull(CUstream_st* stream) { check(syncedmem_async_cpu_pull(handle_, stream)); }

  /// Waits for the copy in flight, if there is one.
  void wait() { check(syncedmem_wait(handle_)); }

  /// Whether no copy is in flight.
  bool is_ready() { return answer(syncedmem_is_ready); }

  /// Declares that work in `stream` may use the object's blocks: they are not reused before it is done.
  void record_stream(CUstream_st* stream) { check(syncedmem_record_stream(handle_, stream)); }

  /// Makes later work of `stream` wait for the library's fills and copies of the device side.
  void stream_wait(CUstream_st* stream) { check(syncedmem_stream_wait(handle_, stream)); }

  /// The ordinal of the device block's device; -1 without a block, or if the driver does not know it.
  int device_ordinal() const { return answer(syncedmem_device_ordinal); }

  /// Whether this library allocated the host block page-locked.
  bool is_pinned() const { return answer(syncedmem_is_pinned); }

  /// Whether the object has a block of that side that it frees.
  bool owns_cpu() const { return answer(syncedmem_owns_cpu); }
  bool owns_gpu() const { return answer(syncedmem_owns_gpu); }

  /// Frees one side's block while the other holds the newest data. Throws error (INVALID_STATE).
  void release_cpu() { check(syncedmem_release_cpu(handle_)); }
  void release_gpu() { check(syncedmem_release_gpu(handle_)); }

  /// Declares the contents dead and frees the memory: the next write begins with zeros, and a read before it throws error
  /// (INVALID_STATE).
  void discard() { check(syncedmem_discard(handle_)); }

  /// Performs an access to `side`, and returns a tensor of the data as elements of `T`, a number or bool: a new
  /// DLManagedTensorVersioned, or, without `versioned`, a DLManagedTensor, which cannot be for reading. The address is
  /// valid until its owner calls its deleter, also after the end of this object.
  template <typename T>
  void* to_dlpack(syncedmem_side_t side, syncedmem_access_t access, const std::vector<std::int64_t>& shape,
                  bool versioned = true) {
    static_assert(std::is_arithmetic<T>::value, "pass other types by DLPack's code and their bits");
    const std::uint8_t code = std::is_same<T, bool>::value           ? 6
                              : std::is_floating_point<T>::value     ? 2
                              : std::is_unsigned<T>::value           ? 1
                                                                     : 0;
    return to_dlpack(side, access, code, static_cast<std::uint8_t>(8 * sizeof(T)), shape, versioned);
  }

  /// Does the same for any type that has a code of DLPack.
  void* to_dlpack(syncedmem_side_t side, syncedmem_access_t access, std::uint8_t type_code, std::uint8_t type_bits,
                  const std::vector<std::int64_t>& shape, bool versioned = true) {
    void* tensor = nullptr;
    check(syncedmem_to_dlpack(handle_, side, access, type_code, type_bits, static_cast<std::int32_t>(shape.size()),
                              shape.data(), versioned, &tensor));
    return tensor;
  }

  /// Borrows the memory of a tensor, which is then the newest side: of a DLManagedTensorVersioned, or, without
  /// `versioned`, a DLManagedTensor. The object calls its deleter when it releases the memory. After an exception the
  /// tensor stays the caller's. Its memory must be contiguous, writable and of size() bytes. Throws error (EXPORTED).
  void set_dlpack(void* tensor, bool versioned = true) { check(syncedmem_set_dlpack(handle_, tensor, versioned)); }

  /// Number of tensors of one side in use.
  std::size_t exports(syncedmem_side_t side) const {
    std::size_t host = 0, device = 0;
    check(syncedmem_exports(handle_, &host, &device));
    return side == SYNCEDMEM_DEVICE ? device : host;
  }

  /// Names the object in traces. Throws std::invalid_argument (empty, too long, not UTF-8).
  void set_name(const std::string& name) { check(syncedmem_set_name(handle_, name.c_str())); }

  /// Notes for traces how many items of the batch the object holds; 0: it does not grow with the batch.
  void set_items(std::size_t items) { check(syncedmem_set_items(handle_, items)); }

 private:
  struct Adopted {};
  SyncedMemory(syncedmem_t* handle, Adopted) noexcept : handle_(handle) {}

  template <typename Handle, typename Answer>
  Answer answer(syncedmem_status_t (*function)(Handle*, Answer*)) const {
    Answer answer = Answer();
    check(function(handle_, &answer));
    return answer;
  }

  syncedmem_t* handle_;
};

inline void swap(SyncedMemory& a, SyncedMemory& b) noexcept { a.swap(b); }

/// The account in numbers.
inline syncedmem_stats_t stats() {
  syncedmem_stats_t stats = syncedmem_stats_t();
  stats.size = sizeof stats;
  check(syncedmem_stats(&stats));
  return stats;
}

/// A short report of this process: calls of Caffe's functions, memory now and at the peak, and counts of operations.
inline std::string report() {
  std::string text;
  std::size_t length = 0;
  check(syncedmem_report(nullptr, 0, &length));
  // The report may have grown since the last call.
  do {
    text.resize(length + 1);
    check(syncedmem_report(&text[0], text.size(), &length));
  } while (length >= text.size());
  text.resize(length);
  return text;
}

/// Sets the peaks to what objects hold now.
inline void reset_peaks() { check(syncedmem_reset_peaks()); }

/// Records memory events in a file, until trace_stop; they survive the process, however it ends. Throws error (FILE).
inline void trace_start(const std::string& file) { check(syncedmem_trace_start(file.c_str())); }
inline void trace_stop() { check(syncedmem_trace_stop()); }

/// Gives idle blocks back to the system or the driver.
inline void trim(syncedmem_memory_t kind = SYNCEDMEM_MEMORY_ALL) { check(syncedmem_trim(kind)); }

inline std::size_t idle_bytes(syncedmem_memory_t kind = SYNCEDMEM_MEMORY_ALL) {
  std::size_t bytes = 0;
  check(syncedmem_idle_bytes(kind, &bytes));
  return bytes;
}

/// The version of the running library, such as "1.2.3".
inline const char* version() noexcept { return syncedmem_version(); }

/// The name of a status, such as "SYNCEDMEM_ERROR_NO_GPU".
inline const char* status_name(syncedmem_status_t status) noexcept { return syncedmem_status_name(status); }

// Settings of the whole process: see syncedmem_set_… in syncedmem.h.

/// The value that a function writes.
template <typename Answer>
Answer answer_of(syncedmem_status_t (*question)(Answer*)) {
  Answer answer = Answer();
  check(question(&answer));
  return answer;
}

inline void set_pool_budget(std::size_t bytes) { check(syncedmem_set_pool_budget(bytes)); }
inline std::size_t pool_budget(syncedmem_memory_t kind) {
  std::size_t bytes = 0;
  check(syncedmem_get_pool_budget(kind, &bytes));
  return bytes;
}
inline void set_pool_age(double seconds) { check(syncedmem_set_pool_age(seconds)); }
inline double pool_age() { return answer_of(syncedmem_get_pool_age); }
inline void set_pinned_limit(std::size_t bytes) { check(syncedmem_set_pinned_limit(bytes)); }
inline std::size_t pinned_limit() { return answer_of(syncedmem_get_pinned_limit); }
inline void set_mode(syncedmem_mode_t mode) { check(syncedmem_set_mode(mode)); }
inline syncedmem_mode_t mode() { return answer_of(syncedmem_get_mode); }
inline void set_pinning(syncedmem_pinning_t pinning) { check(syncedmem_set_pinning(pinning)); }
inline syncedmem_pinning_t pinning() { return answer_of(syncedmem_get_pinning); }
inline void set_error_policy(syncedmem_error_policy_t policy) { check(syncedmem_set_error_policy(policy)); }
inline syncedmem_error_policy_t error_policy() { return answer_of(syncedmem_get_error_policy); }
inline void set_accounting(syncedmem_accounting_t accounting) { check(syncedmem_set_accounting(accounting)); }
inline syncedmem_accounting_t accounting() { return answer_of(syncedmem_get_accounting); }
inline void set_device_check(bool on) { check(syncedmem_set_device_check(on)); }
inline bool device_check() { return answer_of(syncedmem_get_device_check); }

/// Number of accesses while another device than that of the data was current.
inline std::uint64_t device_mismatches() { return answer_of(syncedmem_device_mismatches); }

}  // namespace syncedmem

#endif  // SYNCEDMEM_HPP
