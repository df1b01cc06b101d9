// The stand-in's own SyncedMemory for the CPU: malloc, memset and free as in the original, with counts of its calls.
// The library replaces this file.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generations/bvlc_master.hpp"

namespace {

struct Calls {
  int construct = 0, destroy = 0, cpu_data = 0, mutable_cpu_data = 0, set_cpu_data = 0;
  ~Calls() {
    std::printf("original construct=%d destroy=%d cpu_data=%d mutable_cpu_data=%d set_cpu_data=%d\n", construct,
                destroy, cpu_data, mutable_cpu_data, set_cpu_data);
  }
} calls;

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
      device_(-1) {
  ++calls.construct;
}

SyncedMemory::~SyncedMemory() {
  ++calls.destroy;
  if (cpu_ptr_ && own_cpu_data_) std::free(cpu_ptr_);
}

const void* SyncedMemory::cpu_data() {
  ++calls.cpu_data;
  if (head_ == UNINITIALIZED) {
    cpu_ptr_ = zeros(size_);
    own_cpu_data_ = true;
    head_ = HEAD_AT_CPU;
  }
  return cpu_ptr_;
}

void* SyncedMemory::mutable_cpu_data() {
  ++calls.mutable_cpu_data;
  if (head_ == UNINITIALIZED) {
    cpu_ptr_ = zeros(size_);
    own_cpu_data_ = true;
  }
  head_ = HEAD_AT_CPU;
  return cpu_ptr_;
}

void SyncedMemory::set_cpu_data(void* data) {
  ++calls.set_cpu_data;
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
