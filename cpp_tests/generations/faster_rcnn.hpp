// The class as faster-rcnn and NVIDIA 0.12.2 to 0.13 declare it: 40 bytes, and own_gpu_data_ where BVLC has the
// pinned flag.
#define GENERATION_BYTES 40
#define GENERATION_GARBAGE_FROM 30
#define GENERATION_FIELDS bool own_cpu_data_ = false; bool own_gpu_data_ = false; int gpu_device_ = -1;
#define GENERATION_OFFSETS AT(own_cpu_data_, 28) AT(own_gpu_data_, 29) AT(gpu_device_, 32)
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
#include "generations/class.hpp"
