// The class SyncedMemory as a generation of Caffe declares it. The generation's header defines:
//   GENERATION_BYTES             its size, from docs/caffe-abi.md
//   GENERATION_GARBAGE_FROM      the constructor does not write the bytes from here to byte 32
//   GENERATION_FIELDS            the fields after head_
//   GENERATION_OFFSETS           their offsets
// and, if the class has them, GENERATION_CONSTRUCTS_OUT_OF_LINE, GENERATION_BORROWS, GENERATION_BORROWS_ON_THE_DEVICE,
// GENERATION_PUSHES_ON_A_STREAM, GENERATION_PUSHES_ON_ITS_OWN_STREAM, GENERATION_RESIZES.
#ifndef GENERATIONS_CLASS_HPP
#define GENERATIONS_CLASS_HPP

#include <cstddef>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

struct Generation;

namespace caffe {

class SyncedMemory {
 public:
  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };

#ifdef GENERATION_CONSTRUCTS_OUT_OF_LINE
  SyncedMemory();
  explicit SyncedMemory(std::size_t size);
#else
  SyncedMemory() {}
  explicit SyncedMemory(std::size_t size) : size_(size) {}
#endif
  ~SyncedMemory();
  SyncedMemory(const SyncedMemory&) = delete;
  SyncedMemory& operator=(const SyncedMemory&) = delete;

  const void* cpu_data();
  const void* gpu_data();
  void* mutable_cpu_data();
  void* mutable_gpu_data();
#ifdef GENERATION_BORROWS
  void set_cpu_data(void* data);
#endif
#ifdef GENERATION_BORROWS_ON_THE_DEVICE
  void set_gpu_data(void* data);
#endif
#ifdef GENERATION_PUSHES_ON_A_STREAM
  void async_gpu_push(const cudaStream_t& stream);
#endif
#ifdef GENERATION_PUSHES_ON_ITS_OWN_STREAM
  void async_gpu_push();
#endif
#ifdef GENERATION_RESIZES
  void Resize(std::size_t size);
#endif
  SyncedHead head() const { return head_; }
  std::size_t size() const { return size_; }

 private:
  friend struct ::Generation;

  void* cpu_ptr_ = nullptr;
  void* gpu_ptr_ = nullptr;
  std::size_t size_ = 0;
  SyncedHead head_ = UNINITIALIZED;
  GENERATION_FIELDS
};

}  // namespace caffe

/// Facts that differ between generations.
struct Generation {
  static constexpr std::size_t object_bytes = GENERATION_BYTES;
  static constexpr std::size_t garbage_from = GENERATION_GARBAGE_FROM;

  static void check_layout() {
#define AT(field, offset) static_assert(offsetof(caffe::SyncedMemory, field) == offset, #field);
    AT(cpu_ptr_, 0) AT(gpu_ptr_, 8) AT(size_, 16) AT(head_, 24) GENERATION_OFFSETS
#undef AT
  }
};

#endif  // GENERATIONS_CLASS_HPP
