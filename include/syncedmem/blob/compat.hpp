/*
 * Caffe's names for syncedmem/blob.hpp. Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 *
 * Include it in the place of caffe/blob.hpp and caffe/syncedmem.hpp.
 *
 * caffe::Blob is a class of its own with every public member of Caffe's: it may be declared ahead, instantiated explicitly,
 * derived from, and found by its arguments. Caffe's protected members, such as data_ and shape_, are not there.
 * caffe::SyncedMemory is another name of syncedmem::SyncedMemory, and cannot be declared ahead.
 */

#ifndef SYNCEDMEM_BLOB_COMPAT_HPP
#define SYNCEDMEM_BLOB_COMPAT_HPP

#include <memory>
#include <string>
#include <vector>

#include "../blob.hpp"

using syncedmem::kMaxBlobAxes;

namespace caffe {

using std::shared_ptr;
using std::string;
using std::vector;
using syncedmem::SyncedMemory;

/// A class of this namespace, where an alias could not be declared ahead.
template <typename Dtype>
class Blob : public syncedmem::Blob<Dtype> {
 public:
  using syncedmem::Blob<Dtype>::Blob;
};

}  // namespace caffe

#endif  // SYNCEDMEM_BLOB_COMPAT_HPP
