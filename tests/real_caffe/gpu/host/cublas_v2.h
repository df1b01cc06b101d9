// The part of cuBLAS that Caffe uses; blas.cpp has the functions.
#ifndef HOST_CUDA_CUBLAS_H
#define HOST_CUDA_CUBLAS_H

#include "cuda_runtime.h"

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef struct cublasContext* cublasHandle_t;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);

#define HOST_CUDA_DECLARE(LETTER, NUMBER) \
  cublasStatus_t cublas##LETTER##gemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const NUMBER* alpha, \
                                      const NUMBER* a, int lda, const NUMBER* b, int ldb, const NUMBER* beta, NUMBER* c, int ldc); \
  cublasStatus_t cublas##LETTER##gemv(cublasHandle_t, cublasOperation_t, int m, int n, const NUMBER* alpha, const NUMBER* a, int lda, \
                                      const NUMBER* x, int x_step, const NUMBER* beta, NUMBER* y, int y_step); \
  cublasStatus_t cublas##LETTER##axpy(cublasHandle_t, int n, const NUMBER* alpha, const NUMBER* x, int x_step, NUMBER* y, int y_step); \
  cublasStatus_t cublas##LETTER##copy(cublasHandle_t, int n, const NUMBER* x, int x_step, NUMBER* y, int y_step); \
  cublasStatus_t cublas##LETTER##scal(cublasHandle_t, int n, const NUMBER* alpha, NUMBER* x, int x_step); \
  cublasStatus_t cublas##LETTER##dot(cublasHandle_t, int n, const NUMBER* x, int x_step, const NUMBER* y, int y_step, NUMBER* out); \
  cublasStatus_t cublas##LETTER##asum(cublasHandle_t, int n, const NUMBER* x, int x_step, NUMBER* out);
HOST_CUDA_DECLARE(S, float)
HOST_CUDA_DECLARE(D, double)
#undef HOST_CUDA_DECLARE
}

#endif
