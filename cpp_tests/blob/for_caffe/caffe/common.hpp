#include "caffe/blob.hpp"
