// Replaces caffe/filler.hpp: the filler that Caffe's own tests of Blob use.
#ifndef FOR_CAFFE_FILLER_HPP
#define FOR_CAFFE_FILLER_HPP

#include <random>

#include "caffe/blob.hpp"

namespace caffe {

template <typename Dtype>
class UniformFiller {
 public:
  explicit UniformFiller(const FillerParameter& range) : range_(range.min(), range.max()) {}
  void Fill(Blob<Dtype>* blob) {
    Dtype* data = blob->mutable_cpu_data();
    for (int i = 0; i < blob->count(); ++i) data[i] = range_(generator_);
  }

 private:
  std::uniform_real_distribution<Dtype> range_;
  std::mt19937 generator_;
};

}  // namespace caffe

#endif  // FOR_CAFFE_FILLER_HPP
