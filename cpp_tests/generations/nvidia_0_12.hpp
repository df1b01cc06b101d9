// The class as NVIDIA 0.12.0 and 0.12.1 declare it: 32 bytes, and own_gpu_data_ where BVLC has the pinned flag.
#ifndef GENERATIONS_NVIDIA_0_12_HPP
#define GENERATIONS_NVIDIA_0_12_HPP

#include <cstddef>

struct Generation;

namespace caffe {

class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

  SyncedMemory()
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(0), head_(UNINITIALIZED),
        own_cpu_data_(false), own_gpu_data_(false) {}
  explicit SyncedMemory(std::size_t size)
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(size), head_(UNINITIALIZED),
        own_cpu_data_(false), own_gpu_data_(false) {}
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  const void* cpu_data();
  void set_cpu_data(void* data);
  const void* gpu_data();
  void set_gpu_data(void* data);
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
  bool own_cpu_data_;
  bool own_gpu_data_;
};

}  // namespace caffe

/// Facts that differ between generations.
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
struct Generation {
  static constexpr std::size_t object_bytes = 32;
  /// The constructor does not write the bytes from here to byte 32.
  static constexpr std::size_t garbage_from = 30;
  static constexpr bool borrows = true;

  static bool owns_cpu(const caffe::SyncedMemory& memory) { return memory.own_cpu_data_; }
  static const void* cpu_pointer(const caffe::SyncedMemory& memory) { return memory.cpu_ptr_; }

  static void check_layout() {
    using caffe::SyncedMemory;
    static_assert(offsetof(SyncedMemory, cpu_ptr_) == 0 && offsetof(SyncedMemory, gpu_ptr_) == 8, "");
    static_assert(offsetof(SyncedMemory, size_) == 16 && offsetof(SyncedMemory, head_) == 24, "");
    static_assert(offsetof(SyncedMemory, own_cpu_data_) == 28, "");
    static_assert(offsetof(SyncedMemory, own_gpu_data_) == 29, "");
  }
};

#endif  // GENERATIONS_NVIDIA_0_12_HPP
