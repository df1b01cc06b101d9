// The class as BVLC v0.999 to rc2 declare it (and fast-rcnn, NVIDIA 0.10 and 0.11): 32 bytes, one flag, inline
// constructors.
#define GENERATION_BYTES 32
#define GENERATION_GARBAGE_FROM 29
#define GENERATION_FIELDS bool own_cpu_data_ = false;
#define GENERATION_OFFSETS AT(own_cpu_data_, 28)
#define GENERATION_BORROWS
#include "generations/class.hpp"
