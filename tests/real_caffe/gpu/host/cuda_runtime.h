// The part of the CUDA runtime that Caffe uses, for kernels that run on the CPU. runtime.cpp has the functions, on the simulated driver.
#ifndef HOST_CUDA_RUNTIME_H
#define HOST_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>

#include <algorithm>

// Caffe asks which statuses of cuBLAS there are.
#define CUDA_VERSION 12080

// Statuses are those of the driver.
typedef enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 } cudaError_t;
typedef enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault } cudaMemcpyKind;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, memPitch, totalConstMem, textureAlignment;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount,
      unifiedAddressing;
};
// Numbers of CUdevice_attribute.
typedef enum { cudaDevAttrClockRate = 13, cudaDevAttrGpuOverlap = 15, cudaDevAttrKernelExecTimeout = 17 } cudaDeviceAttr;

extern "C" {
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* ordinal);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void** block, size_t size);
cudaError_t cudaFree(void* block);
cudaError_t cudaMallocHost(void** block, size_t size);
cudaError_t cudaFreeHost(void* block);
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void* block, int value, size_t size);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
}

template <typename T>
cudaError_t cudaMalloc(T** block, size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(block), size);
}
template <typename T>
cudaError_t cudaMallocHost(T** block, size_t size) {
  return cudaMallocHost(reinterpret_cast<void**>(block), size);
}

#include "kernels.h"

#endif
