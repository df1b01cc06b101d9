// A small stand-in for libcaffe: blobs over SyncedMemory, as in Caffe.
#ifndef LOOKALIKE_BLOB_HPP
#define LOOKALIKE_BLOB_HPP

#include <cstddef>
#include <memory>

#include "generations/bvlc_master.hpp"

namespace caffe {

/// Only the stand-in's library touches its memory.
class Blob {
 public:
  explicit Blob(std::size_t count);
  ~Blob();

  void fill(float value);
  float sum() const;
  void share_data(const Blob& other);

 private:
  std::size_t count_;
  std::shared_ptr<SyncedMemory> data_;
};

}  // namespace caffe

#endif  // LOOKALIKE_BLOB_HPP
