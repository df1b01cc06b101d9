// The class as NVIDIA 0.12.0 and 0.12.1 declare it: 32 bytes, and own_gpu_data_ where BVLC has the pinned flag.
#define GENERATION_BYTES 32
#define GENERATION_GARBAGE_FROM 30
#define GENERATION_FIELDS bool own_cpu_data_ = false; bool own_gpu_data_ = false;
#define GENERATION_OFFSETS AT(own_cpu_data_, 28) AT(own_gpu_data_, 29)
#define GENERATION_BORROWS
#define GENERATION_BORROWS_ON_THE_DEVICE
#include "generations/class.hpp"
