// cuDNN's descriptors, and its kernels without convolutions. A kernel of a backward pass that gets a tensor reads it, even if its result
// needs only others: a NaN in memory that another blob uses shows.
#include <cmath>

#include "cudnn_kernels.h"

namespace {

using host_cuda::Blend;
using host_cuda::for_all;
using host_cuda::Span;
using host_cuda::with_type;

template <typename Descriptor>
cudnnStatus_t create(Descriptor** descriptor) {
  *descriptor = new Descriptor();
  return CUDNN_STATUS_SUCCESS;
}
template <typename Descriptor>
cudnnStatus_t destroy(Descriptor* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Descriptor>
cudnnStatus_t set(Descriptor* descriptor, Descriptor value) {
  *descriptor = value;
  return CUDNN_STATUS_SUCCESS;
}

template <typename Number>
Span<const Number> read(const cudnnTensorStruct* tensor, const void* first) {
  return {static_cast<const Number*>(first), tensor->span()};
}
template <typename Number>
Span<Number> written(const cudnnTensorStruct* tensor, void* first) {
  return {static_cast<Number*>(first), tensor->span()};
}

// The value, or NaN if the operand that it does not need is NaN.
template <typename Number>
Number having_read(Number operand, Number value) {
  return std::isnan(operand) ? operand : value;
}

// The rows or columns of a window that begins at `begin`, without padding.
struct Window {
  int begin, end;
  Window(int place, int stride, int pad, int size, int all)
      : begin(std::max(place * stride - pad, 0)), end(std::min(place * stride - pad + size, all)) {}
};

// Calls body(n, c, top row, top column, rows, columns) for each of a pooling's windows.
template <typename Body>
void for_windows(const cudnnPoolingStruct& pooling, const cudnnTensorStruct& x, const cudnnTensorStruct& y, Body body) {
  for_all(y, [&](int n, int c, int h, int w) {
    body(n, c, h, w, Window(h, pooling.stride_h, pooling.pad_h, pooling.h, x.h), Window(w, pooling.stride_w, pooling.pad_w, pooling.w, x.w));
  });
}

template <typename Number>
Number activation(cudnnActivationMode_t mode, Number x) {
  switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case CUDNN_ACTIVATION_TANH: return std::tanh(x);
    default: return having_read(x, std::max(x, Number(0)));
  }
}
template <typename Number>
Number activation_gradient(cudnnActivationMode_t mode, Number x, Number y, Number dy) {
  switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID: return having_read(x, dy * y * (1 - y));
    case CUDNN_ACTIVATION_TANH: return having_read(x, dy * (1 - y * y));
    default: return having_read(x, having_read(y, y > 0 ? dy : Number(0)));
  }
}

// Normalisation by the squares of a neighbourhood: y = x / (k + alpha / size * sum of squares) ^ beta. The neighbourhood of a number is n channels
// (LRN), or n rows and columns of its channel (LCN).
struct Norm {
  cudnnLRNStruct at;
  cudnnTensorStruct shape;
  bool is_across;

  double size() const { return is_across ? at.n : at.n * at.n; }
  // Calls body(index) for the neighbours of a number; for those that have it as a neighbour, if `is_reverse`.
  template <typename Body>
  void for_neighbours(int n, int c, int h, int w, bool is_reverse, Body body) const {
    const int first = (at.n - 1) / 2, pad = is_reverse ? at.n - 1 - first : first;
    if (is_across) {
      const Window channels(c, 1, pad, at.n, shape.c);
      for (int i = channels.begin; i < channels.end; ++i) body(shape.at(n, i, h, w));
      return;
    }
    const Window rows(h, 1, pad, at.n, shape.h), columns(w, 1, pad, at.n, shape.w);
    for (int i = rows.begin; i < rows.end; ++i)
      for (int j = columns.begin; j < columns.end; ++j) body(shape.at(n, c, i, j));
  }
  template <typename Number>
  Number scale(const Number* x, int n, int c, int h, int w) const {
    Number sum = 0;
    for_neighbours(n, c, h, w, false, [&](size_t i) { sum += x[i] * x[i]; });
    return Number(at.k) + Number(at.alpha / size()) * sum;
  }
  // Fills `scales`, and writes the result for each number.
  template <typename Number>
  void forward(const Number* x, Number* scales, Number* y, Blend<Number> blend) const {
    for_all(shape, [&](int n, int c, int h, int w) {
      const size_t i = shape.at(n, c, h, w);
      scales[i] = scale(x, n, c, h, w);
      blend(y[i], x[i] * std::pow(scales[i], Number(-at.beta)));
    });
  }
  // Fills `scales` and `ratios`, each number's part of its neighbours' gradients.
  template <typename Number>
  void backward(const Number* x, const Number* dy, Number* scales, Number* ratios, Number* dx, Blend<Number> blend) const {
    for_all(shape, [&](int n, int c, int h, int w) {
      const size_t i = shape.at(n, c, h, w);
      scales[i] = scale(x, n, c, h, w);
      ratios[i] = dy[i] * x[i] * std::pow(scales[i], Number(-at.beta - 1));
    });
    for_all(shape, [&](int n, int c, int h, int w) {
      const size_t i = shape.at(n, c, h, w);
      Number sum = 0;
      for_neighbours(n, c, h, w, true, [&](size_t j) { sum += ratios[j]; });
      blend(dx[i], dy[i] * std::pow(scales[i], Number(-at.beta)) - Number(2 * at.alpha * at.beta / size()) * x[i] * sum);
    });
  }
};

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  int device;
  return cudaGetDevice(&device) == cudaSuccess ? create(handle) : CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) { return set(handle, {stream}); }

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return create(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return destroy(tensor); }
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c, int h, int w, int n_stride,
                                           int c_stride, int h_stride, int w_stride) {
  // Version 7 refuses empty tensors, too.
  if (n <= 0 || c <= 0 || h <= 0 || w <= 0) return CUDNN_STATUS_BAD_PARAM;
  return set(tensor, {type, n, c, h, w, n_stride, c_stride, h_stride, w_stride});
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_desc, const void* a, const void* beta,
                             cudnnTensorDescriptor_t c_desc, void* c) {
  // Caffe adds a number to each channel, and no other shape.
  if (a_desc->n * a_desc->h * a_desc->w != 1 || a_desc->c != c_desc->c) return CUDNN_STATUS_NOT_SUPPORTED;
  return with_type(c_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnAddTensor", handle, [shape = *c_desc, blend = Blend<Number>(alpha, beta)](const Number* a, Number* to) {
      for_all(shape, [&](int n, int c, int h, int w) { blend(to[shape.at(n, c, h, w)], a[c]); });
    }, read<Number>(a_desc, a), written<Number>(c_desc, c));
  });
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return create(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return destroy(filter); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t, int k, int c, int h, int w) {
  return set(filter, {type, k, c, h, w});
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) { return create(convolution); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) { return destroy(convolution); }
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                                              int dilation_h, int dilation_w, cudnnConvolutionMode_t mode, cudnnDataType_t) {
  if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_NOT_SUPPORTED;
  return set(convolution, {pad_h, pad_w, stride_h, stride_w});
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) { return create(pooling); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) { return destroy(pooling); }
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode, cudnnNanPropagation_t, int h, int w,
                                          int pad_h, int pad_w, int stride_h, int stride_w) {
  return set(pooling, {mode, h, w, pad_h, pad_w, stride_h, stride_w});
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                  const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnPoolingForward", handle,
                            [at = *pooling, xs = *x_desc, ys = *y_desc, blend = Blend<Number>(alpha, beta)](const Number* x, Number* y) {
      for_windows(at, xs, ys, [&](int n, int c, int h, int w, Window rows, Window columns) {
        Number most = -INFINITY, sum = 0;
        for (int i = rows.begin; i < rows.end; ++i)
          for (int j = columns.begin; j < columns.end; ++j) {
            const Number value = x[xs.at(n, c, i, j)];
            most = std::isnan(value) || value > most ? value : most;
            sum += value;
          }
        blend(y[ys.at(n, c, h, w)], at.mode == CUDNN_POOLING_MAX ? most : sum / (at.h * at.w));
      });
    }, read<Number>(x_desc, x), written<Number>(y_desc, y));
  });
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha, cudnnTensorDescriptor_t y_desc,
                                   const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnTensorDescriptor_t x_desc,
                                   const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc, void* dx) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnPoolingBackward", handle,
                            [at = *pooling, xs = *x_desc, ys = *y_desc, blend = Blend<Number>(alpha, beta)](
                                const Number* y, const Number* dy, const Number* x, Number* dx) {
      std::vector<Number> gradients(xs.span());
      for_windows(at, xs, ys, [&](int n, int c, int h, int w, Window rows, Window columns) {
        const size_t top = ys.at(n, c, h, w);
        bool is_found = false;
        for (int i = rows.begin; i < rows.end; ++i)
          for (int j = columns.begin; j < columns.end; ++j) {
            const size_t bottom = xs.at(n, c, i, j);
            // The first of the largest numbers gets the gradient.
            const bool is_most = !is_found && x[bottom] == y[top];
            is_found |= is_most;
            const Number part = at.mode == CUDNN_POOLING_MAX ? (is_most ? dy[top] : Number(0)) : dy[top] / (at.h * at.w);
            gradients[bottom] += having_read(x[bottom], having_read(y[top], part));
          }
      });
      for (size_t i = 0; i < gradients.size(); ++i) blend(dx[i], gradients[i]);
    }, read<Number>(y_desc, y), read<Number>(dy_desc, dy), read<Number>(x_desc, x), written<Number>(dx_desc, dx));
  });
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) { return create(activation); }
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) { return destroy(activation); }
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode, cudnnNanPropagation_t, double) {
  return set(activation, {mode});
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation_desc, const void* alpha,
                                     cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnActivationForward", handle,
                            [mode = activation_desc->mode, count = x_desc->span(), blend = Blend<Number>(alpha, beta)](const Number* x, Number* y) {
      for (size_t i = 0; i < count; ++i) blend(y[i], activation(mode, x[i]));
    }, read<Number>(x_desc, x), written<Number>(y_desc, y));
  });
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation_desc, const void* alpha,
                                      cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                      cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc,
                                      void* dx) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnActivationBackward", handle,
                            [mode = activation_desc->mode, count = x_desc->span(), blend = Blend<Number>(alpha, beta)](
                                const Number* y, const Number* dy, const Number* x, Number* dx) {
      for (size_t i = 0; i < count; ++i) blend(dx[i], activation_gradient(mode, x[i], y[i], dy[i]));
    }, read<Number>(y_desc, y), read<Number>(dy_desc, dy), read<Number>(x_desc, x), written<Number>(dx_desc, dx));
  });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void* alpha,
                                  cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnSoftmaxForward", handle, [shape = *x_desc, blend = Blend<Number>(alpha, beta)](const Number* x, Number* y) {
      cudnnTensorStruct places = shape;
      places.c = 1;
      for_all(places, [&](int n, int, int h, int w) {
        Number most = -INFINITY, sum = 0;
        for (int c = 0; c < shape.c; ++c) most = std::max(most, x[shape.at(n, c, h, w)]);
        for (int c = 0; c < shape.c; ++c) sum += std::exp(x[shape.at(n, c, h, w)] - most);
        for (int c = 0; c < shape.c; ++c) blend(y[shape.at(n, c, h, w)], std::exp(x[shape.at(n, c, h, w)] - most) / sum);
      });
    }, read<Number>(x_desc, x), written<Number>(y_desc, y));
  });
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void* alpha,
                                   cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                   const void* beta, cudnnTensorDescriptor_t dx_desc, void* dx) {
  return with_type(y_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnSoftmaxBackward", handle,
                            [shape = *y_desc, blend = Blend<Number>(alpha, beta)](const Number* y, const Number* dy, Number* dx) {
      cudnnTensorStruct places = shape;
      places.c = 1;
      for_all(places, [&](int n, int, int h, int w) {
        Number sum = 0;
        for (int c = 0; c < shape.c; ++c) sum += y[shape.at(n, c, h, w)] * dy[shape.at(n, c, h, w)];
        for (int c = 0; c < shape.c; ++c) {
          const size_t i = shape.at(n, c, h, w);
          blend(dx[i], y[i] * (dy[i] - sum));
        }
      });
    }, read<Number>(y_desc, y), read<Number>(dy_desc, dy), written<Number>(dx_desc, dx));
  });
}

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* norm) { return create(norm); }
cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t norm) { return destroy(norm); }
cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t norm, unsigned n, double alpha, double beta, double k) {
  if (n < 1 || n > CUDNN_LRN_MAX_N || k < 1e-5 || beta < 0.01) return CUDNN_STATUS_BAD_PARAM;
  return set(norm, {static_cast<int>(n), alpha, beta, k});
}
cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnLRNMode_t, const void* alpha,
                                          cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc,
                                          void* y) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnLRNCrossChannelForward", handle,
                            [at = Norm{*norm, *x_desc, true}, blend = Blend<Number>(alpha, beta)](const Number* x, Number* y) {
      at.forward(x, std::vector<Number>(at.shape.span()).data(), y, blend);
    }, read<Number>(x_desc, x), written<Number>(y_desc, y));
  });
}
cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnLRNMode_t, const void* alpha,
                                           cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc,
                                           void* dx) {
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnLRNCrossChannelBackward", handle,
                            [at = Norm{*norm, *x_desc, true}, blend = Blend<Number>(alpha, beta)](const Number* y, const Number* dy,
                                                                                                  const Number* x, Number* dx) {
      const size_t count = at.shape.span();
      std::vector<Number> gradients(dy, dy + count);
      for (size_t i = 0; i < count; ++i) gradients[i] = having_read(y[i], gradients[i]);
      at.backward(x, gradients.data(), std::vector<Number>(count).data(), std::vector<Number>(count).data(), dx, blend);
    }, read<Number>(y_desc, y), read<Number>(dy_desc, dy), read<Number>(x_desc, x), written<Number>(dx_desc, dx));
  });
}
// The layer's own blocks of scratch are full of NaN at first.
cudnnStatus_t cudnnDivisiveNormalizationForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnDivNormMode_t, const void* alpha,
                                                cudnnTensorDescriptor_t x_desc, const void* x, const void* means, void* temp, void* temp2,
                                                const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  if (means) return CUDNN_STATUS_NOT_SUPPORTED;
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnDivisiveNormalizationForward", handle,
                            [at = Norm{*norm, *x_desc, false}, blend = Blend<Number>(alpha, beta)](const Number* x, Number* scales, Number* ratios,
                                                                                                   Number* y) {
      for (Number* scratch : {scales, ratios}) std::fill_n(scratch, at.shape.span(), Number(NAN));
      at.forward(x, scales, y, blend);
    }, read<Number>(x_desc, x), written<Number>(x_desc, temp), written<Number>(x_desc, temp2), written<Number>(y_desc, y));
  });
}
cudnnStatus_t cudnnDivisiveNormalizationBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnDivNormMode_t mode,
                                                 const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x, const void* means,
                                                 const void* dy, void* temp, void* temp2, const void* beta,
                                                 cudnnTensorDescriptor_t dx_desc, void* dx, void* dmeans) {
  if (means || dmeans || mode != CUDNN_DIVNORM_PRECOMPUTED_MEANS) return CUDNN_STATUS_NOT_SUPPORTED;
  return with_type(x_desc->type, [&](auto number) {
    using Number = decltype(number);
    return host_cuda::queue("cudnnDivisiveNormalizationBackward", handle,
                            [at = Norm{*norm, *x_desc, false}, blend = Blend<Number>(alpha, beta)](const Number* x, const Number* dy, Number* scales,
                                                                                                   Number* ratios, Number* dx) {
      for (Number* scratch : {scales, ratios}) std::fill_n(scratch, at.shape.span(), Number(NAN));
      at.backward(x, dy, scales, ratios, dx, blend);
    }, read<Number>(x_desc, x), read<Number>(x_desc, dy), written<Number>(x_desc, temp), written<Number>(x_desc, temp2),
       written<Number>(dx_desc, dx));
  });
}
}
