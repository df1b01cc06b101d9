// In place of caffe/blob.hpp, common.hpp and syncedmem.hpp: what Caffe's own tests of Blob need of them.
#ifndef FOR_CAFFE_BLOB_HPP
#define FOR_CAFFE_BLOB_HPP

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "syncedmem/blob.hpp"

/// glog's LOG(FATAL): prints what is streamed to it, and ends the process.
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

using syncedmem::kMaxBlobAxes;

namespace caffe {

using std::shared_ptr;
using std::string;
using std::vector;
using syncedmem::Blob;
using syncedmem::SyncedMemory;

struct Caffe {
  enum Brew { CPU, GPU };
};

template <typename Dtype>
void caffe_cpu_scale(int n, Dtype factor, const Dtype* from, Dtype* to) {
  for (int i = 0; i < n; ++i) to[i] = factor * from[i];
}

}  // namespace caffe

#endif  // FOR_CAFFE_BLOB_HPP
