/*
 * libsyncedmem for C++11 and later, without Caffe. SPDX-License-Identifier: BSD-2-Clause
 *
 * One class over the C API of syncedmem.h, header-only: it owns its object, and what fails throws.
 *
 *     syncedmem::SyncedMemory weights(1000 * sizeof(float));
 *     float* w = weights.mutable_cpu_data<float>();   // zeros
 *     w[0] = 1.0f;
 *
 * Pointers to data belong to the object and live as long as it does, wherever it is moved. The conventions on
 * threads, fork and exit are those of syncedmem.h: functions that are const here may run on many threads at once,
 * every other one needs the object alone.
 *
 * A moved-from object has no memory. It may be destroyed, assigned to, swapped and asked whether it has any
 * (operator bool, get), and release() gives NULL; all else throws std::invalid_argument.
 */

#ifndef SYNCEDMEM_HPP
#define SYNCEDMEM_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "syncedmem.h"

namespace syncedmem {

/// Memory ran out: a std::bad_alloc that says what was asked, what stood in the way and what to do.
/// It carries its text in itself, so that to copy it never allocates.
class out_of_memory : public std::bad_alloc {
 public:
  /// Keeps what fits of `message`.
  explicit out_of_memory(const char* message) noexcept {
    std::strncpy(message_, message, sizeof message_ - 1);
    message_[sizeof message_ - 1] = '\0';
  }
  /// The library's sentence.
  const char* what() const noexcept override { return message_; }

 private:
  char message_[1024];
};

/// Any failure that is neither out_of_memory nor std::invalid_argument: no GPU, a driver call that failed, a head that
/// does not allow it, …
class error : public std::runtime_error {
 public:
  error(syncedmem_status_t status, const char* message) : std::runtime_error(message), status_(status) {}
  /// The status of the C API.
  syncedmem_status_t status() const noexcept { return status_; }

 private:
  syncedmem_status_t status_;
};

/// Returns if `status` is SYNCEDMEM_SUCCESS; otherwise throws the exception for it, with the calling thread's last
/// error as its text: out_of_memory, std::invalid_argument, or error for every other number.
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

/// Whether CUDA can be used here: looks for the driver if that has not happened yet.
inline bool has_cuda() noexcept { return syncedmem_cuda_status(nullptr) == SYNCEDMEM_SUCCESS; }

/// The driver's version and its devices, or why there is no GPU to use: a sentence that lives for ever.
inline const char* cuda_status() noexcept {
  const char* sentence = "";
  syncedmem_cuda_status(&sentence);
  return sentence;
}

/// A buffer with a host side and a device side, each allocated when it is first touched and copied only when the
/// other side is newer. Move-only; sizes are in bytes. Where "error" is written below, a failure of the driver is one
/// too.
class SyncedMemory {
 public:
  /// An object of `bytes` bytes on each side; neither is allocated yet. Throws out_of_memory.
  explicit SyncedMemory(std::size_t bytes) : handle_(nullptr) { check(syncedmem_create(bytes, &handle_)); }

  /// Takes over what syncedmem_create returned, or NULL.
  static SyncedMemory adopt(syncedmem_t* handle) noexcept { return SyncedMemory(handle, Adopted()); }

  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  SyncedMemory(SyncedMemory&& other) noexcept : handle_(other.release()) {}
  SyncedMemory& operator=(SyncedMemory&& other) noexcept {
    SyncedMemory ends_here(std::move(other));
    ends_here.swap(*this);
    return *this;
  }

  /// Frees the memory that the object owns; what it borrowed stays.
  ~SyncedMemory() { syncedmem_destroy(handle_); }

  void swap(SyncedMemory& other) noexcept { std::swap(handle_, other.handle_); }

  /// The handle, for the C API. It stays this object's.
  syncedmem_t* get() const noexcept { return handle_; }

  /// Gives the handle up: the caller ends it with syncedmem_destroy.
  syncedmem_t* release() noexcept {
    syncedmem_t* handle = handle_;
    handle_ = nullptr;
    return handle;
  }

  /// Whether there is an object: false when it was moved from or released.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The size of each side in bytes.
  std::size_t size() const {
    std::size_t bytes = 0;
    check(syncedmem_size(handle_, &bytes));
    return bytes;
  }

  /// How many whole elements of `T` each side holds.
  template <typename T>
  std::size_t count() const {
    return size() / sizeof(T);
  }

  /// Where the newest data is.
  syncedmem_head_t head() const {
    syncedmem_head_t head = SYNCEDMEM_UNINITIALIZED;
    check(syncedmem_head(handle_, &head));
    return head;
  }

  /// The host data, for reading: zeros at the first touch. Throws out_of_memory, error (NO_GPU).
  template <typename T = void>
  const T* cpu_data() const {
    const void* data = nullptr;
    check(syncedmem_cpu_data(handle_, &data));
    return static_cast<const T*>(data);
  }

  /// The host data, for reading and writing; the host is the newest side afterwards. Throws as cpu_data.
  template <typename T = void>
  T* mutable_cpu_data() {
    return writable<T>(syncedmem_mutable_cpu_data);
  }

  /// The host data, for writing all of it: neither zeroed nor copied, undefined until written. Throws out_of_memory.
  template <typename T = void>
  T* overwrite_cpu_data() {
    return writable<T>(syncedmem_overwrite_cpu_data);
  }

  /// The device data, for reading: zeros at the first touch; null for size 0. Throws out_of_memory, error (NO_GPU).
  template <typename T = void>
  const T* gpu_data() const {
    const void* data = nullptr;
    check(syncedmem_gpu_data(handle_, &data));
    return static_cast<const T*>(data);
  }

  /// The device data, for reading and writing; the device is the newest side afterwards. Throws as gpu_data.
  template <typename T = void>
  T* mutable_gpu_data() {
    return writable<T>(syncedmem_mutable_gpu_data);
  }

  /// The device data, for writing all of it: neither zeroed nor copied. Throws as gpu_data.
  template <typename T = void>
  T* overwrite_gpu_data() {
    return writable<T>(syncedmem_overwrite_gpu_data);
  }

  /// Borrows the caller's memory of size() bytes as the host side, which is then the newest. A host block that the
  /// object owned is freed. Throws std::invalid_argument (NULL).
  void set_cpu_data(void* data) { check(syncedmem_set_cpu_data(handle_, data)); }

  /// Borrows the caller's device memory: the mirror image of set_cpu_data. Throws error (NO_GPU) too.
  void set_gpu_data(void* data) { check(syncedmem_set_gpu_data(handle_, data)); }

  /// Starts a copy from host to device on `stream` (null: the default one), which the caller synchronises before
  /// using the device data. Throws error (NO_GPU, INVALID_STATE).
  void async_gpu_push(CUstream_st* stream) { check(syncedmem_async_gpu_push(handle_, stream)); }

  /// Starts a copy from device to host on `stream` (null: the default one), which cpu_data, wait or is_ready completes;
  /// until then the device stays the newest side. Does nothing where the host is current, or a copy is under way.
  /// Throws out_of_memory, error (NO_GPU, INVALID_STATE).
  void async_cpu_pull(CUstream_st* stream) { check(syncedmem_async_cpu_pull(handle_, stream)); }

  /// Waits for what is in flight, and completes it. Throws error.
  void wait() { check(syncedmem_wait(handle_)); }

  /// Whether nothing is in flight (any more). Throws error.
  bool is_ready() { return asked(syncedmem_is_ready); }

  /// The ordinal of the device that holds the device block; -1 if there is none, or it is not known.
  int device_ordinal() const {
    int ordinal = -1;
    check(syncedmem_device_ordinal(handle_, &ordinal));
    return ordinal;
  }

  /// Page-locks the host memory where it is, until unpin, or until the object lets that memory go. Memory that was lent
  /// with set_cpu_data must stay until then. Throws out_of_memory, error (NO_GPU, INVALID_STATE).
  void pin() { check(syncedmem_pin(handle_)); }

  /// Undoes pin. Throws error (NO_GPU).
  void unpin() { check(syncedmem_unpin(handle_)); }

  /// Whether there is host memory that is page-locked by this library.
  bool is_pinned() const { return asked(syncedmem_is_pinned); }

  /// Whether there is a host block that the object will free.
  bool owns_cpu() const { return asked(syncedmem_owns_cpu); }

  /// Whether there is a device block that the object will free.
  bool owns_gpu() const { return asked(syncedmem_owns_gpu); }

  /// Gives back the host block while the device holds the newest data. Throws error (INVALID_STATE).
  void release_cpu() { check(syncedmem_release_cpu(handle_)); }

  /// Gives back the device block while the host holds the newest data. Throws error (INVALID_STATE, NO_GPU).
  void release_gpu() { check(syncedmem_release_gpu(handle_)); }

  /// Lets the library evict the object's sides when memory runs out, while no access is open. Each address that is
  /// handed out from then on opens one. Throws out_of_memory, std::invalid_argument (another number).
  void set_evictable(syncedmem_eviction_t how) { check(syncedmem_set_evictable(handle_, how)); }

  /// What may be evicted of the object.
  syncedmem_eviction_t evictable() const {
    syncedmem_eviction_t how = SYNCEDMEM_EVICT_NEVER;
    check(syncedmem_get_evictable(handle_, &how));
    return how;
  }

  /// Gives the object a name in reports and traces, where something is accounted for or traced. Throws
  /// std::invalid_argument (empty, too long, not UTF-8).
  void set_name(const std::string& name) { check(syncedmem_set_name(handle_, name.c_str())); }

  /// The object's name; empty if it has none.
  std::string name() const {
    std::string text(SYNCEDMEM_NAME_BYTES + 1, '\0');
    std::size_t length = 0;
    check(syncedmem_get_name(handle_, &text[0], text.size(), &length));
    text.resize(length);
    return text;
  }

  /// Ends an access: one address that was handed out is not used any more. Does nothing where set_evictable was not
  /// called. Throws error (INVALID_STATE: none is open).
  void end_access() const { check(syncedmem_end_access(handle_)); }

 private:
  struct Adopted {};
  SyncedMemory(syncedmem_t* handle, Adopted) noexcept : handle_(handle) {}

  template <typename T>
  T* writable(syncedmem_status_t (*access)(syncedmem_t*, void**)) {
    void* data = nullptr;
    check(access(handle_, &data));
    return static_cast<T*>(data);
  }

  template <typename Handle>
  bool asked(syncedmem_status_t (*question)(Handle*, bool*)) const {
    bool answer = false;
    check(question(handle_, &answer));
    return answer;
  }

  syncedmem_t* handle_;
};

inline void swap(SyncedMemory& a, SyncedMemory& b) noexcept { a.swap(b); }

/// What was accounted for so far.
inline syncedmem_stats_t stats() {
  syncedmem_stats_t stats = syncedmem_stats_t();
  stats.size = sizeof stats;
  check(syncedmem_stats(&stats));
  return stats;
}

/// The report of this process: its memory, who holds it, what was copied, and what could be spared. Throws out_of_memory.
inline std::string report() {
  std::string text;
  std::size_t length = 0;
  check(syncedmem_report(nullptr, 0, &length));
  // It may have grown since it was asked for its length.
  do {
    text.resize(length + 1);
    check(syncedmem_report(&text[0], text.size(), &length));
  } while (length >= text.size());
  text.resize(length);
  return text;
}

}  // namespace syncedmem

#endif  // SYNCEDMEM_HPP
