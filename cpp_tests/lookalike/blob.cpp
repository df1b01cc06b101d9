#include "blob.hpp"

namespace caffe {

Blob::Blob(std::size_t count) : count_(count), data_(new SyncedMemory(count * sizeof(float))) {}

Blob::~Blob() = default;

void Blob::fill(float value) {
  float* values = static_cast<float*>(data_->mutable_cpu_data());
  for (std::size_t i = 0; i < count_; ++i) values[i] = value;
}

float Blob::sum() const {
  const float* values = static_cast<const float*>(data_->cpu_data());
  float sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += values[i];
  return sum;
}

void Blob::share_data(const Blob& other) { data_->set_cpu_data(other.data_->mutable_cpu_data()); }

}  // namespace caffe
