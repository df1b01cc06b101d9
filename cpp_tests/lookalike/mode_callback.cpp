#include "caffe/common.hpp"
#include "syncedmem.h"
static int mode(void*) { return caffe::Caffe::mode(); }
static const int registered = syncedmem_set_mode_callback(mode, nullptr);
