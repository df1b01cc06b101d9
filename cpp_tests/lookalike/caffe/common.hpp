// A stand-in for Caffe's common.hpp: the class that holds the mode, one object for each thread. Definitions at compile time choose the
// Caffe:
//
//   (nothing)            a GPU build of BVLC's: the mode at offset 32
//   CPU_ONLY             a CPU_ONLY build of BVLC's: at 16
//   WITH_CUDNN           built with cuDNN, which changes nothing in BVLC's
//   NVIDIA WITH_CUDNN    a GPU build of NVIDIA's, 0.13.1 to 0.15: at 40
//   NVIDIA_0_16          a GPU build of NVIDIA's, 0.16.1 to 0.16.5: at another offset
//   NVIDIA_0_16_6        a GPU build of NVIDIA's from 0.16.6 on: a static variable
#ifndef LOOKALIKE_CAFFE_COMMON_HPP
#define LOOKALIKE_CAFFE_COMMON_HPP

#include <cstddef>
#include <memory>

namespace caffe {

class Caffe {
 public:
  enum Brew { CPU, GPU };

  static Caffe& Get();

#ifdef NVIDIA_0_16_6
  static Brew mode() { return mode_; }
  static void set_mode(Brew mode) { mode_ = mode; }
#else
  static Brew mode() { return Get().mode_; }
  static void set_mode(Brew mode) { Get().mode_ = mode; }
#endif

 private:
  friend struct Offsets;

#ifndef CPU_ONLY
  void* cublas_handle_ = nullptr;
  void* curand_generator_ = nullptr;
#if defined(NVIDIA) && defined(WITH_CUDNN)
  void* cudnn_handle_ = nullptr;
#endif
#ifdef NVIDIA_0_16
  // A reader that mistakes this for the mode finds GPU.
  long streams_[4] = {1, 1, 1, 1};
#endif
#endif
  // Not 0, so that a reader finds no mode here.
  std::shared_ptr<int> random_generator_ = std::make_shared<int>(0);
#ifdef NVIDIA_0_16_6
  static Brew mode_;
#else
  Brew mode_ = CPU;
#endif
  int solver_count_ = 1;
  bool root_solver_ = true;
#if defined(NVIDIA_0_16) || defined(NVIDIA_0_16_6)
  static int thread_count_;
#endif
};

#ifndef CPU_ONLY
#ifdef NVIDIA_0_16_6
void caffe_gpu_memcpy(const std::size_t size, const void* from, void* to, int group = 0);
#else
void caffe_gpu_memcpy(const std::size_t size, const void* from, void* to);
#endif
#endif

}  // namespace caffe

extern "C" {
/// Entry points of programs that open the library at run time.
void lookalike_set_mode(int mode);
/// Number of calls of Get() since the last call of this function.
int lookalike_gets(void);
}

#endif  // LOOKALIKE_CAFFE_COMMON_HPP
