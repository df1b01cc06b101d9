// A library whose frames exceptions only pass: it has neither handlers nor destructors, and refers to no C++ runtime.
#include "generations/bvlc_master.hpp"

extern "C" const char* wraps(caffe::SyncedMemory* memory) {
  return static_cast<const char*>(memory->cpu_data()) + 1;
}
