// The part of cuDNN that Caffe's cuDNN layers use, with version 7's signatures. convolution.cpp and cudnn.cpp have the functions.
#ifndef HOST_CUDA_CUDNN_H
#define HOST_CUDA_CUDNN_H

#include "cuda_runtime.h"

#define CUDNN_VERSION 7605
#define CUDNN_LRN_MAX_N 16

typedef enum {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_NOT_INITIALIZED = 1,
  CUDNN_STATUS_ALLOC_FAILED = 2,
  CUDNN_STATUS_BAD_PARAM = 3,
  CUDNN_STATUS_INTERNAL_ERROR = 4,
  CUDNN_STATUS_INVALID_VALUE = 5,
  CUDNN_STATUS_ARCH_MISMATCH = 6,
  CUDNN_STATUS_MAPPING_ERROR = 7,
  CUDNN_STATUS_EXECUTION_FAILED = 8,
  CUDNN_STATUS_NOT_SUPPORTED = 9,
  CUDNN_STATUS_LICENSE_ERROR = 10,
  CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING = 11,
  CUDNN_STATUS_RUNTIME_IN_PROGRESS = 12,
  CUDNN_STATUS_RUNTIME_FP_OVERFLOW = 13
} cudnnStatus_t;
typedef enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1 } cudnnDataType_t;
typedef enum { CUDNN_TENSOR_NCHW = 0 } cudnnTensorFormat_t;
typedef enum { CUDNN_NOT_PROPAGATE_NAN = 0, CUDNN_PROPAGATE_NAN = 1 } cudnnNanPropagation_t;
typedef enum { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 } cudnnConvolutionMode_t;
typedef enum { CUDNN_CONVOLUTION_FWD_SPECIFY_WORKSPACE_LIMIT = 2 } cudnnConvolutionFwdPreference_t;
typedef enum { CUDNN_CONVOLUTION_BWD_FILTER_SPECIFY_WORKSPACE_LIMIT = 2 } cudnnConvolutionBwdFilterPreference_t;
typedef enum { CUDNN_CONVOLUTION_BWD_DATA_SPECIFY_WORKSPACE_LIMIT = 2 } cudnnConvolutionBwdDataPreference_t;
typedef enum {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2,
  CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING = 5,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD = 6
} cudnnConvolutionFwdAlgo_t;
typedef enum { CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 = 0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1 } cudnnConvolutionBwdFilterAlgo_t;
typedef enum { CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 = 0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1 } cudnnConvolutionBwdDataAlgo_t;
typedef enum { CUDNN_POOLING_MAX = 0, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1 } cudnnPoolingMode_t;
typedef enum { CUDNN_ACTIVATION_SIGMOID = 0, CUDNN_ACTIVATION_RELU = 1, CUDNN_ACTIVATION_TANH = 2 } cudnnActivationMode_t;
typedef enum { CUDNN_SOFTMAX_ACCURATE = 1 } cudnnSoftmaxAlgorithm_t;
typedef enum { CUDNN_SOFTMAX_MODE_CHANNEL = 1 } cudnnSoftmaxMode_t;
typedef enum { CUDNN_LRN_CROSS_CHANNEL_DIM1 = 0 } cudnnLRNMode_t;
typedef enum { CUDNN_DIVNORM_PRECOMPUTED_MEANS = 0 } cudnnDivNormMode_t;

typedef struct cudnnContext* cudnnHandle_t;
typedef struct cudnnTensorStruct* cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct* cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct* cudnnConvolutionDescriptor_t;
typedef struct cudnnPoolingStruct* cudnnPoolingDescriptor_t;
typedef struct cudnnActivationStruct* cudnnActivationDescriptor_t;
typedef struct cudnnLRNStruct* cudnnLRNDescriptor_t;

extern "C" {
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor);
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c, int h, int w, int n_stride,
                                           int c_stride, int h_stride, int w_stride);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_desc, const void* a, const void* beta,
                             cudnnTensorDescriptor_t c_desc, void* c);

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t format, int k, int c,
                                         int h, int w);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter);

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                                              int dilation_h, int dilation_w, cudnnConvolutionMode_t mode, cudnnDataType_t type);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution);

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                  cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
                                                  cudnnConvolutionFwdPreference_t preference, size_t limit,
                                                  cudnnConvolutionFwdAlgo_t* algorithm);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x,
                                      cudnnFilterDescriptor_t w_desc, const void* w, cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
                                                         cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,
                                                         cudnnConvolutionBwdFilterPreference_t preference, size_t limit,
                                                         cudnnConvolutionBwdFilterAlgo_t* algorithm);
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
                                                             cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes);
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x,
                                             cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                             cudnnFilterDescriptor_t dw_desc, void* dw);
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
                                                       cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,
                                                       cudnnConvolutionBwdDataPreference_t preference, size_t limit,
                                                       cudnnConvolutionBwdDataAlgo_t* algorithm);
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_desc, const void* w,
                                           cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_desc, void* dx);
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const void* beta, cudnnTensorDescriptor_t db_desc, void* db);

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling);
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, int h, int w,
                                          int pad_h, int pad_w, int stride_h, int stride_w);
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                  const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha, cudnnTensorDescriptor_t y_desc,
                                   const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnTensorDescriptor_t x_desc,
                                   const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc, void* dx);

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation);
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double ceiling);
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation);
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
                                     cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
                                      cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                      cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc,
                                      void* dx);

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, const void* alpha,
                                  cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, const void* alpha,
                                   cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                   const void* beta, cudnnTensorDescriptor_t dx_desc, void* dx);

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* norm);
cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t norm, unsigned n, double alpha, double beta, double k);
cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t norm);
cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnLRNMode_t mode, const void* alpha,
                                          cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t y_desc,
                                          void* y);
cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnLRNMode_t mode, const void* alpha,
                                           cudnnTensorDescriptor_t y_desc, const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           cudnnTensorDescriptor_t x_desc, const void* x, const void* beta, cudnnTensorDescriptor_t dx_desc,
                                           void* dx);
cudnnStatus_t cudnnDivisiveNormalizationForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnDivNormMode_t mode, const void* alpha,
                                                cudnnTensorDescriptor_t x_desc, const void* x, const void* means, void* temp, void* temp2,
                                                const void* beta, cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t cudnnDivisiveNormalizationBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm, cudnnDivNormMode_t mode,
                                                 const void* alpha, cudnnTensorDescriptor_t x_desc, const void* x, const void* means,
                                                 const void* dy, void* temp, void* temp2, const void* beta,
                                                 cudnnTensorDescriptor_t dx_desc, void* dx, void* dmeans);
}

#endif
