// The stand-in's mode, and the symbols that distinguish one Caffe from another.
#include "caffe/common.hpp"

#include <atomic>
#include <cstring>

namespace {

std::atomic<int> gets(0);

}  // namespace

namespace caffe {

Caffe& Caffe::Get() {
  ++gets;
  // Never destroyed: glibc does not unload a library while a thread must still run its destructors.
  static thread_local Caffe* caffe = new Caffe;
  return *caffe;
}

#ifndef CPU_ONLY
#ifdef NVIDIA_0_16_6
void caffe_gpu_memcpy(const std::size_t size, const void* from, void* to, int) { std::memcpy(to, from, size); }
#else
void caffe_gpu_memcpy(const std::size_t size, const void* from, void* to) { std::memcpy(to, from, size); }
#endif
#endif

#ifdef NVIDIA_0_16_6
Caffe::Brew Caffe::mode_ = Caffe::GPU;
#endif
#if defined(NVIDIA_0_16) || defined(NVIDIA_0_16_6)
int Caffe::thread_count_ = 0;
#endif

#ifdef NVIDIA
struct GPUMemory {
  struct Manager {};
  static Manager mgr_;
};
GPUMemory::Manager GPUMemory::mgr_;
#endif

#ifdef WITH_CUDNN
namespace cudnn {
template <typename Dtype>
class dataType;
template <>
class dataType<float> {
 public:
  static const void* one;
};
const void* dataType<float>::one = nullptr;
}  // namespace cudnn
#endif

/// The real Caffes keep the mode there.
struct Offsets {
#if !defined(NVIDIA_0_16) && !defined(NVIDIA_0_16_6)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#if defined(CPU_ONLY)
  static_assert(offsetof(Caffe, mode_) == 16, "");
#elif defined(NVIDIA) && defined(WITH_CUDNN)
  static_assert(offsetof(Caffe, mode_) == 40, "");
#else
  static_assert(offsetof(Caffe, mode_) == 32, "");
#endif
#pragma GCC diagnostic pop
#endif
};

}  // namespace caffe

void lookalike_set_mode(int mode) { caffe::Caffe::set_mode(static_cast<caffe::Caffe::Brew>(mode)); }
int lookalike_gets(void) { return gets.exchange(0); }
