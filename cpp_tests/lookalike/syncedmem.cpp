// The stand-in's own SyncedMemory for the CPU: malloc, memset and free as in the original.
// The library replaces this file.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generations/bvlc_master.hpp"

namespace {

[[noreturn]] void die(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::abort();
}

void* zeros(std::size_t size) {
  void* block = std::malloc(size);
  if (!block && size) die("host allocation failed");
  return std::memset(block, 0, size);
}

}  // namespace

namespace caffe {

SyncedMemory::SyncedMemory() : SyncedMemory(0) {}

SyncedMemory::SyncedMemory(std::size_t size)
    : cpu_ptr_(nullptr),
      gpu_ptr_(nullptr),
      size_(size),
      head_(UNINITIALIZED),
      own_cpu_data_(false),
      cpu_malloc_use_cuda_(false),
      own_gpu_data_(false),
      device_(-1) {}

SyncedMemory::~SyncedMemory() {
  if (cpu_ptr_ && own_cpu_data_) std::free(cpu_ptr_);
}

const void* SyncedMemory::cpu_data() {
  if (head_ == UNINITIALIZED) {
    cpu_ptr_ = zeros(size_);
    own_cpu_data_ = true;
    head_ = HEAD_AT_CPU;
  }
  return cpu_ptr_;
}

void* SyncedMemory::mutable_cpu_data() {
  if (head_ == UNINITIALIZED) {
    cpu_ptr_ = zeros(size_);
    own_cpu_data_ = true;
  }
  head_ = HEAD_AT_CPU;
  return cpu_ptr_;
}

void SyncedMemory::set_cpu_data(void* data) {
  if (!data) die("no data");
  if (cpu_ptr_ && own_cpu_data_) std::free(cpu_ptr_);
  cpu_ptr_ = data;
  own_cpu_data_ = false;
  head_ = HEAD_AT_CPU;
}

const void* SyncedMemory::gpu_data() { die("no GPU in this build"); }
void* SyncedMemory::mutable_gpu_data() { die("no GPU in this build"); }
void SyncedMemory::set_gpu_data(void*) { die("no GPU in this build"); }
void SyncedMemory::async_gpu_push(const cudaStream_t&) { die("no GPU in this build"); }

}  // namespace caffe
