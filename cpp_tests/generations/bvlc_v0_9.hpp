// The class as BVLC v0.9 declares it: 32 bytes, no flag at all, nothing can be borrowed, inline constructors.
#ifndef GENERATIONS_BVLC_V0_9_HPP
#define GENERATIONS_BVLC_V0_9_HPP

#include <cstddef>

struct Generation;

namespace caffe {

class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

  SyncedMemory()
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(0), head_(UNINITIALIZED) {}
  explicit SyncedMemory(std::size_t size)
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(size), head_(UNINITIALIZED) {}
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  const void* cpu_data();
  const void* gpu_data();
  void* mutable_cpu_data();
  void* mutable_gpu_data();
  SyncedHead head() const { return head_; }
  std::size_t size() const { return size_; }

 private:
  friend struct ::Generation;

  void* cpu_ptr_;
  void* gpu_ptr_;
  std::size_t size_;
  SyncedHead head_;
};

}  // namespace caffe

/// Facts that differ between generations.
struct Generation {
  static constexpr std::size_t object_bytes = 32;
  /// The constructor does not write the bytes from here to byte 32.
  static constexpr std::size_t garbage_from = 28;
  static constexpr bool borrows = false;

  static const void* cpu_pointer(const caffe::SyncedMemory& memory) { return memory.cpu_ptr_; }

  static void check_layout() {
    using caffe::SyncedMemory;
    static_assert(offsetof(SyncedMemory, cpu_ptr_) == 0 && offsetof(SyncedMemory, gpu_ptr_) == 8, "");
    static_assert(offsetof(SyncedMemory, size_) == 16 && offsetof(SyncedMemory, head_) == 24, "");
  }
};

#endif  // GENERATIONS_BVLC_V0_9_HPP
