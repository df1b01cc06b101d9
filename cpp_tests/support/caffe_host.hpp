// Caffe's host allocation functions of every generation as ordinary symbols. In Caffe's header they are inline.
#ifndef SUPPORT_CAFFE_HOST_HPP
#define SUPPORT_CAFFE_HOST_HPP

#include <cstddef>

namespace caffe {
void CaffeMallocHost(void** ptr, std::size_t size, bool* use_cuda);
void CaffeFreeHost(void* ptr, bool use_cuda);
void CaffeMallocHost(void** ptr, std::size_t size);
void CaffeFreeHost(void* ptr);
}  // namespace caffe

#endif
