// cuBLAS by OpenBLAS, in the order of the handle's stream. One thread computes: the result depends on the operands alone.
#include <cblas.h>

#include "cublas_v2.h"

extern "C" void openblas_set_num_threads(int count);

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace {

using host_cuda::Use;

cublasStatus_t status(cudaError_t error) { return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED; }
CBLAS_TRANSPOSE transposed(cublasOperation_t operation) { return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; }

// Queues body(pointers…), which gets host pointers for the device's.
template <typename Body, typename... Pointers>
cublasStatus_t queue(const char* name, cublasHandle_t handle, Body body, Pointers... pointers) {
  std::vector<Use> uses;
  (host_cuda::note(uses, pointers), ...);
  return status(host_cuda::queue(name, handle->stream, uses, [=](void* const* bytes) {
    const std::tuple<Pointers...> here{host_cuda::translated(bytes, pointers)...};
    std::apply(body, here);
  }));
}

// Like queue, for a result that the caller reads at once.
template <typename Body, typename... Pointers>
cublasStatus_t await(const char* name, cublasHandle_t handle, Body body, Pointers... pointers) {
  const cublasStatus_t queued = queue(name, handle, body, pointers...);
  return queued == CUBLAS_STATUS_SUCCESS ? status(cudaStreamSynchronize(handle->stream)) : queued;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  openblas_set_num_threads(1);
  int device;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

#define DEFINE(LETTER, letter, N)                                                                                                \
  cublasStatus_t cublas##LETTER##gemm(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op, int m, int n,       \
                                      int k, const N* alpha, const N* a, int lda, const N* b, int ldb, const N* beta, N* c,      \
                                      int ldc) {                                                                                 \
    const N factor = *alpha, old = *beta;                                                                                        \
    return queue("cublas" #LETTER "gemm", handle, [=](const N* a, const N* b, N* c) {                                            \
      cblas_##letter##gemm(CblasColMajor, transposed(a_op), transposed(b_op), m, n, k, factor, a, lda, b, ldb, old, c, ldc);     \
    }, a, b, c);                                                                                                                 \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const N* alpha, const N* a,     \
                                      int lda, const N* x, int x_step, const N* beta, N* y, int y_step) {                        \
    const N factor = *alpha, old = *beta;                                                                                        \
    return queue("cublas" #LETTER "gemv", handle, [=](const N* a, const N* x, N* y) {                                            \
      cblas_##letter##gemv(CblasColMajor, transposed(op), m, n, factor, a, lda, x, x_step, old, y, y_step);                      \
    }, a, x, y);                                                                                                                 \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##axpy(cublasHandle_t handle, int n, const N* alpha, const N* x, int x_step, N* y, int y_step) {  \
    const N factor = *alpha;                                                                                                     \
    return queue("cublas" #LETTER "axpy", handle,                                                                                \
                 [=](const N* x, N* y) { cblas_##letter##axpy(n, factor, x, x_step, y, y_step); }, x, y);                        \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##copy(cublasHandle_t handle, int n, const N* x, int x_step, N* y, int y_step) {                  \
    return queue("cublas" #LETTER "copy", handle, [=](const N* x, N* y) { cblas_##letter##copy(n, x, x_step, y, y_step); }, x, y); \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##scal(cublasHandle_t handle, int n, const N* alpha, N* x, int x_step) {                          \
    const N factor = *alpha;                                                                                                     \
    return queue("cublas" #LETTER "scal", handle, [=](N* x) { cblas_##letter##scal(n, factor, x, x_step); }, x);                 \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##dot(cublasHandle_t handle, int n, const N* x, int x_step, const N* y, int y_step, N* out) {     \
    return await("cublas" #LETTER "dot", handle,                                                                                 \
                 [=](const N* x, const N* y) { *out = cblas_##letter##dot(n, x, x_step, y, y_step); }, x, y);                    \
  }                                                                                                                              \
  cublasStatus_t cublas##LETTER##asum(cublasHandle_t handle, int n, const N* x, int x_step, N* out) {                            \
    return await("cublas" #LETTER "asum", handle, [=](const N* x) { *out = cblas_##letter##asum(n, x, x_step); }, x);            \
  }
DEFINE(S, s, float)
DEFINE(D, d, double)
}
