// The class as the GPU builds of NVIDIA 0.15.12 to 0.15.14 declare it: 48 bytes, with a stream and a push
// without an argument.
#define GENERATION_BYTES 48
#define GENERATION_GARBAGE_FROM 32
#define GENERATION_FIELDS \
  bool own_cpu_data_; bool cpu_malloc_use_cuda_; bool own_gpu_data_; int device_; cudaStream_t stream_;
#define GENERATION_OFFSETS \
  AT(own_cpu_data_, 28) AT(cpu_malloc_use_cuda_, 29) AT(own_gpu_data_, 30) AT(device_, 32) AT(stream_, 40)
#define GENERATION_CONSTRUCTS_OUT_OF_LINE
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
#define GENERATION_PUSHES_ON_ITS_OWN_STREAM
#include "generations/class.hpp"
