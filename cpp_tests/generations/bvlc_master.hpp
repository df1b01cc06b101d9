// The class as BVLC rc4 to master declare it (and SSD, OpenPose, …): 40 bytes, constructors out of line.
#define GENERATION_BYTES 40
#define GENERATION_GARBAGE_FROM 32
#define GENERATION_FIELDS bool own_cpu_data_; bool cpu_malloc_use_cuda_; bool own_gpu_data_; int device_;
#define GENERATION_OFFSETS AT(own_cpu_data_, 28) AT(cpu_malloc_use_cuda_, 29) AT(own_gpu_data_, 30) AT(device_, 32)
#define GENERATION_CONSTRUCTS_OUT_OF_LINE
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
#define GENERATION_PUSHES_ON_A_STREAM
#include "generations/class.hpp"
