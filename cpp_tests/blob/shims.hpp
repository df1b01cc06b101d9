// What code written for Caffe's Blob needs beside syncedmem/blob/compat.hpp: the messages.
#ifndef BLOB_SHIMS_HPP
#define BLOB_SHIMS_HPP

#include "blob/messages.hpp"
#include "syncedmem/blob/compat.hpp"

namespace caffe {

using messages::BlobProto;
using messages::BlobShape;

}  // namespace caffe

#endif  // BLOB_SHIMS_HPP
