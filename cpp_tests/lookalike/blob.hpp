// A small stand-in for libcaffe: blobs over SyncedMemory, as Caffe's are.
#ifndef LOOKALIKE_BLOB_HPP
#define LOOKALIKE_BLOB_HPP

#include <cstddef>
#include <memory>

#include "generations/bvlc_master.hpp"

namespace caffe {

/// Only this library touches their memory, unless the caller takes data().
class Blob {
 public:
  explicit Blob(std::size_t count);
  ~Blob();

  void fill(float value);
  float sum() const;
  void share_data(const Blob& other);
  /// For callers outside of this library.
  const std::shared_ptr<SyncedMemory>& data() const { return data_; }

 private:
  std::size_t count_;
  std::shared_ptr<SyncedMemory> data_;
};

/// The caller owns the memory.
void fill(SyncedMemory& memory, float value);

}  // namespace caffe

#endif  // LOOKALIKE_BLOB_HPP
