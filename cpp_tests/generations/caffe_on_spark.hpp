// The class as CaffeOnSpark declares it: BVLC's, and a second device number in what was padding.
#ifndef GENERATIONS_CAFFE_ON_SPARK_HPP
#define GENERATIONS_CAFFE_ON_SPARK_HPP

#include <cstddef>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

struct Generation;

namespace caffe {

class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

  SyncedMemory()
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(0), head_(UNINITIALIZED),
        own_cpu_data_(false), cpu_malloc_use_cuda_(false), own_gpu_data_(false), gpu_device_(-1),
        alloc_device_(-1) {}
  explicit SyncedMemory(std::size_t size)
      : cpu_ptr_(nullptr), gpu_ptr_(nullptr), size_(size), head_(UNINITIALIZED),
        own_cpu_data_(false), cpu_malloc_use_cuda_(false), own_gpu_data_(false), gpu_device_(-1),
        alloc_device_(-1) {}
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  const void* cpu_data();
  void set_cpu_data(void* data);
  const void* gpu_data();
  void set_gpu_data(void* data);
  void* mutable_cpu_data();
  void* mutable_gpu_data();
  void async_gpu_push(const cudaStream_t& stream);
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
  int gpu_device_;
  int alloc_device_;
};

}  // namespace caffe

/// Facts that differ between generations.
#define GENERATION_BORROWS
#define GENERATION_PUSHES_ON_A_STREAM
#define GENERATION_BORROWS_ON_THE_DEVICE
struct Generation {
  static constexpr std::size_t object_bytes = 40;
  /// The constructor does not write the bytes from here to byte 32.
  static constexpr std::size_t garbage_from = 31;
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
    static_assert(offsetof(SyncedMemory, gpu_device_) == 32, "");
    static_assert(offsetof(SyncedMemory, alloc_device_) == 36, "");
  }
};

#endif  // GENERATIONS_CAFFE_ON_SPARK_HPP
