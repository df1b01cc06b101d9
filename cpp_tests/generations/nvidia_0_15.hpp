// The class as the GPU builds of NVIDIA 0.15.12 to 0.15.14 declare it: 48 bytes, a stream of its own, and a push
// without an argument.
#ifndef GENERATIONS_NVIDIA_0_15_HPP
#define GENERATIONS_NVIDIA_0_15_HPP

#include <cstddef>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

struct Generation;

namespace caffe {

class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

  SyncedMemory();
  explicit SyncedMemory(std::size_t size);
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  const void* cpu_data();
  void set_cpu_data(void* data);
  const void* gpu_data();
  void set_gpu_data(void* data);
  void* mutable_cpu_data();
  void* mutable_gpu_data();
  void async_gpu_push();
  SyncedHead head() const { return head_; }
  std::size_t size() const { return size_; }

 private:
  friend struct ::Generation;

  void* cpu_ptr_;
  void* gpu_ptr_;
  std::size_t size_;
  SyncedHead head_;
  bool own_cpu_data_;
  bool cpu_malloc_use_cuda_;
  bool own_gpu_data_;
  int device_;
  cudaStream_t stream_;
};

}  // namespace caffe

/// Facts that differ between generations.
#define GENERATION_BORROWS
#define GENERATION_PUSHES_ON_ITS_OWN_STREAM
#define GENERATION_BORROWS_ON_THE_DEVICE
struct Generation {
  static constexpr std::size_t object_bytes = 48;
  /// The constructor does not write the bytes from here to byte 32.
  static constexpr std::size_t garbage_from = 32;
  static constexpr bool borrows = true;

  static bool owns_cpu(const caffe::SyncedMemory& memory) { return memory.own_cpu_data_; }
  static const void* cpu_pointer(const caffe::SyncedMemory& memory) { return memory.cpu_ptr_; }

  static void check_layout() {
    using caffe::SyncedMemory;
    static_assert(offsetof(SyncedMemory, cpu_ptr_) == 0 && offsetof(SyncedMemory, gpu_ptr_) == 8, "");
    static_assert(offsetof(SyncedMemory, size_) == 16 && offsetof(SyncedMemory, head_) == 24, "");
    static_assert(offsetof(SyncedMemory, own_cpu_data_) == 28, "");
    static_assert(offsetof(SyncedMemory, cpu_malloc_use_cuda_) == 29, "");
    static_assert(offsetof(SyncedMemory, own_gpu_data_) == 30, "");
    static_assert(offsetof(SyncedMemory, device_) == 32, "");
    static_assert(offsetof(SyncedMemory, stream_) == 40, "");
  }
};

#endif  // GENERATIONS_NVIDIA_0_15_HPP
