// The class as CaffeOnSpark declares it: BVLC's, with a second device number in the padding.
#define GENERATION_BYTES 40
#define GENERATION_GARBAGE_FROM 31
#define GENERATION_FIELDS \
  bool own_cpu_data_ = false; bool cpu_malloc_use_cuda_ = false; bool own_gpu_data_ = false; \
  int gpu_device_ = -1; int alloc_device_ = -1;
#define GENERATION_OFFSETS \
  AT(own_cpu_data_, 28) AT(cpu_malloc_use_cuda_, 29) AT(own_gpu_data_, 30) AT(gpu_device_, 32) \
  AT(alloc_device_, 36)
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
#define GENERATION_PUSHES_ON_A_STREAM
#include "generations/class.hpp"
