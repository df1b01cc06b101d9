// Replaces caffe/blob.hpp, common.hpp and syncedmem.hpp for Caffe's own tests of Blob.
#ifndef FOR_CAFFE_BLOB_HPP
#define FOR_CAFFE_BLOB_HPP

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "caffe/proto/caffe.pb.h"
#include "syncedmem/blob/compat.hpp"

/// glog's LOG(FATAL): prints the streamed text, and ends the process.
struct Fatal {
  ~Fatal() {
    std::cerr << std::endl;
    std::abort();
  }
  template <typename T>
  Fatal& operator<<(const T& text) {
    std::cerr << text;
    return *this;
  }
};
#define LOG(severity) Fatal()

namespace caffe {

struct Caffe {
  enum Brew { CPU, GPU };
};

template <typename Dtype>
void caffe_cpu_scale(int n, Dtype factor, const Dtype* from, Dtype* to) {
  for (int i = 0; i < n; ++i) to[i] = factor * from[i];
}

}  // namespace caffe

#endif  // FOR_CAFFE_BLOB_HPP
