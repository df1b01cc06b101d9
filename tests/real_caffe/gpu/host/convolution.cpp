// cuDNN's convolutions. An algorithm without a workspace adds in another order than one with a workspace, so a changed choice of the algorithm shows
// in the results.
#include <cblas.h>

#include <cstdio>
#include <cstdlib>

#include "cudnn_kernels.h"

namespace {

using host_cuda::Blend;
using host_cuda::Span;

// The sizes of one image's convolution.
struct Shape {
  int images, channels, h, w, outputs, out_h, out_w, kernel_h, kernel_w;
  cudnnConvolutionStruct at;

  Shape(const cudnnTensorStruct& x, const cudnnFilterStruct& filter, const cudnnConvolutionStruct& convolution, const cudnnTensorStruct& y)
      : images(x.n), channels(x.c), h(x.h), w(x.w), outputs(y.c), out_h(y.h), out_w(y.w), kernel_h(filter.h), kernel_w(filter.w), at(convolution) {}
  bool fits(const cudnnTensorStruct& x, const cudnnFilterStruct& filter, const cudnnTensorStruct& y) const {
    return x.n == y.n && filter.c == x.c && filter.k == y.c && x.type == y.type && x.type == filter.type && x.is_image_dense() &&
           y.is_image_dense() && out_h == (h + 2 * at.pad_h - kernel_h) / at.stride_h + 1 &&
           out_w == (w + 2 * at.pad_w - kernel_w) / at.stride_w + 1;
  }
  int taps() const { return channels * kernel_h * kernel_w; }
  int places() const { return out_h * out_w; }
  size_t columns() const { return static_cast<size_t>(taps()) * places(); }
  size_t weights() const { return static_cast<size_t>(outputs) * taps(); }

  // Calls body(output, tap, place, input) for each product in one output's image that is not of padding.
  template <typename Body>
  void for_products(Body body) const {
    for (int kh = 0; kh < kernel_h; ++kh)
      for (int kw = 0; kw < kernel_w; ++kw)
        for (int c = channels - 1; c >= 0; --c)
          for (int oh = 0; oh < out_h; ++oh)
            for (int ow = 0; ow < out_w; ++ow) {
              const int row = oh * at.stride_h - at.pad_h + kh, column = ow * at.stride_w - at.pad_w + kw;
              if (row < 0 || row >= h || column < 0 || column >= w) continue;
              body((c * kernel_h + kh) * kernel_w + kw, oh * out_w + ow, (c * h + row) * w + column);
            }
  }
};

void gemm(CBLAS_TRANSPOSE a_op, CBLAS_TRANSPOSE b_op, int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, a_op, b_op, m, n, k, 1, a, a_op == CblasNoTrans ? k : m, b, b_op == CblasNoTrans ? n : k, 0, c, n);
}
void gemm(CBLAS_TRANSPOSE a_op, CBLAS_TRANSPOSE b_op, int m, int n, int k, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, a_op, b_op, m, n, k, 1, a, a_op == CblasNoTrans ? k : m, b, b_op == CblasNoTrans ? n : k, 0, c, n);
}

// The workspace of a call, as numbers. The constructor fills it with NaN. At the end it must hold what the call wrote, and NaN beyond the size
// that the algorithm asks for.
template <typename Number>
class Workspace {
 public:
  Workspace(const char* kernel, Number* first, size_t asked, size_t given) : kernel_(kernel), first_(first), asked_(asked), given_(given) {
    if (first) std::memset(static_cast<void*>(first), 0xFF, given * sizeof(Number));
  }
  Number* numbers() const { return first_; }
  // The caller has written the numbers, and writes no others before `check`.
  void wrote() { sum_ = sum(); }
  void check() const {
    if (first_ && sum() != sum_) wrong("holds what another operation wrote");
    for (size_t i = asked_; first_ && i < given_; ++i)
      if (bits(i) != ~0ull >> (64 - 8 * sizeof(Number))) wrong("is written beyond the size that its algorithm asks for");
  }

 private:
  const char* kernel_;
  Number* first_;
  size_t asked_, given_;
  unsigned long long sum_ = 0;

  unsigned long long bits(size_t i) const {
    unsigned long long value = 0;
    std::memcpy(&value, first_ + i, sizeof(Number));
    return value;
  }
  unsigned long long sum() const {
    unsigned long long sum = 0;
    for (size_t i = 0; i < asked_; ++i) sum = sum * 0x9E3779B97F4A7C15u + bits(i);
    return sum;
  }
  [[noreturn]] void wrong(const char* what) const {
    std::fprintf(stderr, "simulated CUDA: kernel %s: its workspace %s\n", kernel_, what);
    std::abort();
  }
};

// The workspace of this thread's last cudnnConvolutionBackwardFilter. Only a deliberate fault uses it.
thread_local void* workspace_of_filter;

template <typename Number>
void fill_columns(const Shape& shape, const Number* image, Number* columns) {
  std::fill(columns, columns + shape.columns(), Number(0));
  shape.for_products([&](int tap, int place, int input) { columns[static_cast<size_t>(tap) * shape.places() + place] = image[input]; });
}

// A call of one of the three convolutions: y = x * w, dw = dy * x, dx = dy * w.
struct Call {
  const char* name;
  cudnnHandle_t handle;
  Shape shape;
  cudnnTensorStruct x, y;
  cudnnDataType_t type;
  bool is_valid, has_workspace;
  size_t asked, given;

  Call(const char* name, cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t filter, cudnnConvolutionDescriptor_t convolution,
       cudnnTensorDescriptor_t y, bool has_workspace, size_t asked, size_t given)
      : name(name), handle(handle), shape(*x, *filter, *convolution, *y), x(*x), y(*y), type(x->type), is_valid(shape.fits(*x, *filter, *y)),
        has_workspace(has_workspace), asked(asked), given(given) {}
  size_t size() const { return type == CUDNN_DATA_FLOAT ? sizeof(float) : sizeof(double); }
  cudnnStatus_t refusal(const void* workspace) const {
    if (!is_valid) return CUDNN_STATUS_BAD_PARAM;
    return has_workspace && (!workspace || given < asked) ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
  }
  // Queues body(workspace, pointers…).
  template <typename Number, typename Body, typename... Spans>
  cudnnStatus_t queue(void* workspace, Body body, Spans... spans) const {
    const Span<Number> scratch{has_workspace ? static_cast<Number*>(workspace) : nullptr, given / sizeof(Number)};
    return host_cuda::queue(name, handle, [=, asked = asked, name = name](Number* first, auto*... here) {
      body(Workspace<Number>(name, first, asked / sizeof(Number), scratch.count), here...);
    }, scratch, spans...);
  }
};

size_t workspace_of(const Shape& shape, cudnnDataType_t type, bool with_weights) {
  return (shape.columns() + (with_weights ? shape.weights() : 0)) * (type == CUDNN_DATA_FLOAT ? sizeof(float) : sizeof(double));
}

// Chooses between an algorithm with a workspace and one without.
template <typename Algorithm>
cudnnStatus_t choose(size_t bytes, size_t limit, Algorithm with, Algorithm without, Algorithm* chosen) {
  *chosen = bytes <= limit ? with : without;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Algorithm>
cudnnStatus_t size_of(size_t of_with, Algorithm with, Algorithm without, Algorithm algorithm, size_t* bytes) {
  if (algorithm != with && algorithm != without) return CUDNN_STATUS_NOT_SUPPORTED;
  *bytes = algorithm == with ? of_with : 0;
  return CUDNN_STATUS_SUCCESS;
}
constexpr auto kForward = CUDNN_CONVOLUTION_FWD_ALGO_GEMM, kForwardWithout = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
constexpr auto kFilter = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, kFilterWithout = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0;
constexpr auto kData = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, kDataWithout = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0;

template <typename Number>
void forward(const Shape& shape, const Number* image, const Number* weights, Workspace<Number>& workspace, std::vector<Number>& result) {
  std::fill(result.begin(), result.end(), Number(0));
  if (Number* const columns = workspace.numbers()) {
    fill_columns(shape, image, columns);
    workspace.wrote();
    gemm(CblasNoTrans, CblasNoTrans, shape.outputs, shape.places(), shape.taps(), weights, columns, result.data());
    return;
  }
  for (int k = 0; k < shape.outputs; ++k)
    shape.for_products([&](int tap, int place, int input) {
      result[static_cast<size_t>(k) * shape.places() + place] += weights[static_cast<size_t>(k) * shape.taps() + tap] * image[input];
    });
}

template <typename Number>
void backward_filter(const Shape& shape, const Number* image, const Number* gradient, Workspace<Number>& workspace, std::vector<Number>& result) {
  if (Number* const columns = workspace.numbers()) {
    Number* const product = columns + shape.columns();
    fill_columns(shape, image, columns);
    gemm(CblasNoTrans, CblasTrans, shape.outputs, shape.taps(), shape.places(), gradient, columns, product);
    workspace.wrote();
    for (size_t i = 0; i < shape.weights(); ++i) result[i] += product[i];
    return;
  }
  for (int k = 0; k < shape.outputs; ++k)
    shape.for_products([&](int tap, int place, int input) {
      result[static_cast<size_t>(k) * shape.taps() + tap] += gradient[static_cast<size_t>(k) * shape.places() + place] * image[input];
    });
}

template <typename Number>
void backward_data(const Shape& shape, const Number* gradient, const Number* weights, Workspace<Number>& workspace, std::vector<Number>& result) {
  std::fill(result.begin(), result.end(), Number(0));
  if (Number* const columns = workspace.numbers()) {
    gemm(CblasTrans, CblasNoTrans, shape.taps(), shape.places(), shape.outputs, weights, gradient, columns);
    workspace.wrote();
    shape.for_products([&](int tap, int place, int input) { result[input] += columns[static_cast<size_t>(tap) * shape.places() + place]; });
    return;
  }
  for (int k = 0; k < shape.outputs; ++k)
    shape.for_products([&](int tap, int place, int input) {
      result[input] += weights[static_cast<size_t>(k) * shape.taps() + tap] * gradient[static_cast<size_t>(k) * shape.places() + place];
    });
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm(cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                  cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
                                                  cudnnConvolutionFwdPreference_t, size_t limit, cudnnConvolutionFwdAlgo_t* algorithm) {
  return choose(workspace_of({*x, *w, *convolution, *y}, x->type, false), limit, kForward, kForwardWithout, algorithm);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return size_of(workspace_of({*x, *w, *convolution, *y}, x->type, false), kForward, kForwardWithout, algorithm, bytes);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x,
                                      cudnnFilterDescriptor_t w_desc, const void* w, cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_desc, void* y) {
  size_t asked;
  const cudnnStatus_t known = cudnnGetConvolutionForwardWorkspaceSize(handle, x_desc, w_desc, convolution, y_desc, algorithm, &asked);
  if (known != CUDNN_STATUS_SUCCESS) return known;
  const Call call("cudnnConvolutionForward", handle, x_desc, w_desc, convolution, y_desc, algorithm == kForward, asked, bytes);
  if (const cudnnStatus_t refusal = call.refusal(workspace)) return refusal;
  return host_cuda::with_type(call.type, [&](auto number) {
    using Number = decltype(number);
    const Blend<Number> blend(alpha, beta);
    return call.queue<Number>(workspace, [=](Workspace<Number> workspace, const Number* x, const Number* w, Number* y) {
      const size_t numbers = static_cast<size_t>(call.shape.outputs) * call.shape.places();
      std::vector<Number> result(numbers);
      for (int n = 0; n < call.shape.images; ++n) {
        forward(call.shape, x + call.x.at(n, 0, 0, 0), w, workspace, result);
        for (size_t i = 0; i < numbers; ++i) blend(y[call.y.at(n, 0, 0, 0) + i], result[i]);
      }
      workspace.check();
    }, Span<const Number>{static_cast<const Number*>(x), call.x.span()}, Span<const Number>{static_cast<const Number*>(w), call.shape.weights()},
       Span<Number>{static_cast<Number*>(y), call.y.span()});
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm(cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
                                                         cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,
                                                         cudnnConvolutionBwdFilterPreference_t, size_t limit,
                                                         cudnnConvolutionBwdFilterAlgo_t* algorithm) {
  return choose(workspace_of({*x, *dw, *convolution, *dy}, x->type, true), limit, kFilter, kFilterWithout, algorithm);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
                                                             cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return size_of(workspace_of({*x, *dw, *convolution, *dy}, x->type, true), kFilter, kFilterWithout, algorithm, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x,
                                             cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_desc, void* dw) {
  size_t asked;
  const cudnnStatus_t known = cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x_desc, dy_desc, convolution, dw_desc, algorithm, &asked);
  if (known != CUDNN_STATUS_SUCCESS) return known;
  workspace_of_filter = workspace;
  const Call call("cudnnConvolutionBackwardFilter", handle, x_desc, dw_desc, convolution, dy_desc, algorithm == kFilter, asked, bytes);
  if (const cudnnStatus_t refusal = call.refusal(workspace)) return refusal;
  return host_cuda::with_type(call.type, [&](auto number) {
    using Number = decltype(number);
    const Blend<Number> blend(alpha, beta);
    return call.queue<Number>(workspace, [=](Workspace<Number> workspace, const Number* x, const Number* dy, Number* dw) {
      std::vector<Number> result(call.shape.weights());
      for (int n = 0; n < call.shape.images; ++n)
        backward_filter(call.shape, x + call.x.at(n, 0, 0, 0), dy + call.y.at(n, 0, 0, 0), workspace, result);
      for (size_t i = 0; i < result.size(); ++i) blend(dw[i], result[i]);
      workspace.check();
    }, Span<const Number>{static_cast<const Number*>(x), call.x.span()}, Span<const Number>{static_cast<const Number*>(dy), call.y.span()},
       Span<Number>{static_cast<Number*>(dw), call.shape.weights()});
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm(cudnnHandle_t, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
                                                       cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,
                                                       cudnnConvolutionBwdDataPreference_t, size_t limit,
                                                       cudnnConvolutionBwdDataAlgo_t* algorithm) {
  return choose(workspace_of({*dx, *w, *convolution, *dy}, dx->type, false), limit, kData, kDataWithout, algorithm);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return size_of(workspace_of({*dx, *w, *convolution, *dy}, dx->type, false), kData, kDataWithout, algorithm, bytes);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_desc, const void* w,
                                           cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_desc, void* dx) {
  size_t asked;
  const cudnnStatus_t known = cudnnGetConvolutionBackwardDataWorkspaceSize(handle, w_desc, dy_desc, convolution, dx_desc, algorithm, &asked);
  if (known != CUDNN_STATUS_SUCCESS) return known;
  if (host_cuda::has_fault("two streams use one workspace")) workspace = workspace_of_filter;
  const Call call("cudnnConvolutionBackwardData", handle, dx_desc, w_desc, convolution, dy_desc, algorithm == kData, asked, bytes);
  if (const cudnnStatus_t refusal = call.refusal(workspace)) return refusal;
  return host_cuda::with_type(call.type, [&](auto number) {
    using Number = decltype(number);
    const Blend<Number> blend(alpha, beta);
    return call.queue<Number>(workspace, [=](Workspace<Number> workspace, const Number* w, const Number* dy, Number* dx) {
      const size_t numbers = static_cast<size_t>(call.shape.channels) * call.shape.h * call.shape.w;
      std::vector<Number> result(numbers);
      for (int n = 0; n < call.shape.images; ++n) {
        backward_data(call.shape, dy + call.y.at(n, 0, 0, 0), w, workspace, result);
        for (size_t i = 0; i < numbers; ++i) blend(dx[call.x.at(n, 0, 0, 0) + i], result[i]);
      }
      workspace.check();
    }, Span<const Number>{static_cast<const Number*>(w), call.shape.weights()}, Span<const Number>{static_cast<const Number*>(dy), call.y.span()},
       Span<Number>{static_cast<Number*>(dx), call.x.span()});
  });
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const void* beta, cudnnTensorDescriptor_t db_desc, void* db) {
  const cudnnTensorStruct shape = *dy_desc;
  if (db_desc->c != shape.c || db_desc->n * db_desc->h * db_desc->w != 1) return CUDNN_STATUS_BAD_PARAM;
  return host_cuda::with_type(shape.type, [&](auto number) {
    using Number = decltype(number);
    const Blend<Number> blend(alpha, beta);
    return host_cuda::queue("cudnnConvolutionBackwardBias", handle, [=](const Number* dy, Number* db) {
      std::vector<Number> sums(shape.c);
      host_cuda::for_all(shape, [&](int n, int c, int h, int w) { sums[c] += dy[shape.at(n, c, h, w)]; });
      for (int c = 0; c < shape.c; ++c) blend(db[c], sums[c]);
    }, Span<const Number>{static_cast<const Number*>(dy), shape.span()}, Span<Number>{static_cast<Number*>(db), static_cast<size_t>(shape.c)});
  });
}
}
