// A library that exceptions pass through: it has no handlers and no destructors, and refers to no C++ runtime.
#include "generations/bvlc_master.hpp"

extern "C" const char* wraps(caffe::SyncedMemory* memory) {
  return static_cast<const char*>(memory->cpu_data()) + 1;
}
