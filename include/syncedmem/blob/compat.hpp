/*
 * Caffe's names for syncedmem/blob.hpp. Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 *
 * Include it in place of caffe/blob.hpp and caffe/syncedmem.hpp.
 *
 * caffe::Blob is a class with every public member of Caffe's: it may be forward-declared, instantiated explicitly, derived
 * from, and found by argument-dependent lookup. Caffe's protected members, such as data_ and shape_, are not there.
 * caffe::SyncedMemory is an alias of syncedmem::SyncedMemory, and cannot be forward-declared.
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

/// A class, because an alias could not be forward-declared.
template <typename Dtype>
class Blob : public syncedmem::Blob<Dtype> {
 public:
  using syncedmem::Blob<Dtype>::Blob;
};

}  // namespace caffe

#endif  // SYNCEDMEM_BLOB_COMPAT_HPP
