// Descriptors and kernels of the cuDNN that runs on the CPU. Each result depends on the operands alone, so two runs are equal bit for bit; it
// differs from that of Caffe's own kernels in its last bits.
#ifndef HOST_CUDA_CUDNN_KERNELS_H
#define HOST_CUDA_CUDNN_KERNELS_H

#include <tuple>

#include "cudnn.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type;
  int n, c, h, w, n_stride, c_stride, h_stride, w_stride;

  size_t at(int image, int channel, int row, int column) const {
    return static_cast<size_t>(image) * n_stride + static_cast<size_t>(channel) * c_stride + static_cast<size_t>(row) * h_stride +
           static_cast<size_t>(column) * w_stride;
  }
  size_t span() const { return n && c && h && w ? at(n - 1, c - 1, h - 1, w - 1) + 1 : 0; }
  bool is_image_dense() const { return w_stride == 1 && h_stride == w && c_stride == h * w; }
};
struct cudnnFilterStruct {
  cudnnDataType_t type;
  int k, c, h, w;
};
struct cudnnConvolutionStruct {
  int pad_h, pad_w, stride_h, stride_w;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode;
  int h, w, pad_h, pad_w, stride_h, stride_w;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode;
};
struct cudnnLRNStruct {
  int n;
  double alpha, beta, k;
};

namespace host_cuda {

// A range that a kernel uses. Its first and its last number are named to the driver, which compares the named bytes with those of work in other
// streams.
template <typename T>
struct Span {
  T* first;
  size_t count;
};
template <typename T>
void note(std::vector<Use>& uses, const Span<T>& span) {
  const bool writes = !std::is_const<T>::value;
  uses.push_back({span.first, writes});
  uses.push_back({span.first && span.count ? span.first + span.count - 1 : nullptr, writes});
}
template <typename T>
T* translated(void* const*& next, const Span<T>&) {
  T* const here = static_cast<T*>(*next);
  next += 2;
  return here;
}

// Queues body(pointers…) in the handle's stream. The body gets host pointers for the device's spans.
template <typename Body, typename... Spans>
cudnnStatus_t queue(const char* name, cudnnHandle_t handle, Body body, Spans... spans) {
  std::vector<Use> uses;
  (note(uses, spans), ...);
  const cudaError_t error = queue(name, handle->stream, uses, [=](void* const* bytes) {
    // Braces evaluate from left to right.
    std::apply(body, std::tuple{translated(bytes, spans)...});
  });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

// Calls body with a number of the tensors' type.
template <typename Body>
cudnnStatus_t with_type(cudnnDataType_t type, Body body) {
  return type == CUDNN_DATA_FLOAT ? body(0.f) : body(0.);
}

// alpha * result + beta * old. Old memory is not read if beta is 0.
template <typename Number>
struct Blend {
  Number alpha, beta;
  Blend(const void* alpha, const void* beta) : alpha(*static_cast<const Number*>(alpha)), beta(*static_cast<const Number*>(beta)) {}
  void operator()(Number& to, Number result) const { to = beta == 0 ? alpha * result : alpha * result + beta * to; }
};

template <typename Body>
void for_all(const cudnnTensorStruct& tensor, Body body) {
  for (int n = 0; n < tensor.n; ++n)
    for (int c = 0; c < tensor.c; ++c)
      for (int h = 0; h < tensor.h; ++h)
        for (int w = 0; w < tensor.w; ++w) body(n, c, h, w);
}

}  // namespace host_cuda

#endif
