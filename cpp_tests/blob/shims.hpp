// What code written for Caffe's Blob needs beside syncedmem/blob.hpp: the names of namespace caffe, and the messages.
#ifndef BLOB_SHIMS_HPP
#define BLOB_SHIMS_HPP

#include <memory>
#include <string>
#include <vector>

#include "blob/messages.hpp"
#include "syncedmem/blob.hpp"

namespace caffe {

using messages::BlobProto;
using messages::BlobShape;
using std::shared_ptr;
using std::string;
using std::vector;
using syncedmem::Blob;
using syncedmem::SyncedMemory;

}  // namespace caffe

#endif  // BLOB_SHIMS_HPP
