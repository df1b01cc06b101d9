// The part of the CUDA runtime, cuBLAS and cuRAND that Caffe uses, on the simulated driver, for a machine without a GPU. Memory, copies,
// streams and sums of vectors are real; kernels, matrix products and random numbers compute nothing. It shows that `check` and a Caffe in
// GPU mode work, and that the variants move the same bytes. It proves nothing about CUDA.
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <curand.h>

#include <cmath>
#include <cstring>
#include <vector>

// The header names a newer function than the simulated driver has.
#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

// The simulated driver's access to device memory, past the driver.
extern "C" int simcuda_read(CUdeviceptr address, void* out, size_t bytes);
extern "C" int simcuda_write(CUdeviceptr address, const void* from, size_t bytes);

namespace {

CUdeviceptr device(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
cudaError_t runtime(CUresult status) { return static_cast<cudaError_t>(status); }

// As in the runtime: the first call makes the primary context of device 0 current in a thread that has none.
CUresult ready() {
  CUcontext current = nullptr;
  CUresult status = cuInit(0);
  if (status == CUDA_SUCCESS) status = cuCtxGetCurrent(&current);
  if (status != CUDA_SUCCESS || current) return status;
  static CUcontext primary = nullptr;
  static const CUresult retained = cuDevicePrimaryCtxRetain(&primary, 0);
  return retained == CUDA_SUCCESS ? cuCtxSetCurrent(primary) : retained;
}

template <typename Call>
cudaError_t in_context(Call call) {
  const CUresult status = ready();
  return runtime(status == CUDA_SUCCESS ? call() : status);
}

// A vector in device memory, behind all work of its device.
template <typename Number>
std::vector<Number> read(const Number* x, int n, int step) {
  std::vector<Number> all(n > 0 ? 1 + size_t(n - 1) * step : 0), vector;
  cuCtxSynchronize();
  simcuda_read(device(x), all.data(), all.size() * sizeof(Number));
  for (size_t i = 0; i < all.size(); i += step) vector.push_back(all[i]);
  return vector;
}

template <typename Number>
cublasStatus_t sum(int n, const Number* x, int step, const Number* y, int y_step, Number* out) {
  const std::vector<Number> a = read(x, n, step), b = y ? read(y, n, y_step) : a;
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += y ? double(a[i]) * b[i] : std::fabs(double(a[i]));
  *out = static_cast<Number>(total);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Number>
cublasStatus_t axpy(int n, Number alpha, const Number* x, Number* y) {
  const std::vector<Number> a = read(x, n, 1);
  std::vector<Number> b = read(y, n, 1);
  for (int i = 0; i < n; ++i) b[i] += alpha * a[i];
  simcuda_write(device(y), b.data(), n * sizeof(Number));
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Number>
cublasStatus_t copy(int n, const Number* x, Number* y) {
  const std::vector<Number> a = read(x, n, 1);
  simcuda_write(device(y), a.data(), n * sizeof(Number));
  return CUBLAS_STATUS_SUCCESS;
}

char handle;

}  // namespace

extern "C" {

// --- the runtime

cudaError_t cudaGetDeviceCount(int* count) {
  const CUresult status = cuInit(0);
  return runtime(status == CUDA_SUCCESS ? cuDeviceGetCount(count) : status);
}
cudaError_t cudaGetDevice(int* ordinal) {
  return in_context([=] { return cuCtxGetDevice(ordinal); });
}
// Caffe's tests name no other device than the first.
cudaError_t cudaSetDevice(int) { return runtime(ready()); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  std::memset(properties, 0, sizeof *properties);
  properties->major = 9;
  return in_context([=] { return cuDeviceGetName(properties->name, sizeof properties->name, ordinal); });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = 0, cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  return cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS ? text : "unknown error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** block, size_t size) {
  CUdeviceptr address = 0;
  const cudaError_t error = in_context([&] { return size ? cuMemAlloc(&address, size) : CUDA_SUCCESS; });
  *block = reinterpret_cast<void*>(address);
  return error;
}
cudaError_t cudaFree(void* block) {
  return in_context([=] { return block ? cuMemFree(device(block)) : CUDA_SUCCESS; });
}
cudaError_t cudaMallocHost(void** block, size_t size) {
  return in_context([=] { return cuMemHostAlloc(block, size ? size : 1, CU_MEMHOSTALLOC_PORTABLE); });
}
cudaError_t cudaFreeHost(void* block) {
  return in_context([=] { return block ? cuMemFreeHost(block) : CUDA_SUCCESS; });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  return in_context([=] { return cuMemcpy(device(to), device(from), size); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  return in_context([=] { return cuMemcpyAsync(device(to), device(from), size, stream); });
}
cudaError_t cudaMemset(void* block, int value, size_t size) {
  return in_context([=] { return cuMemsetD8(device(block), static_cast<unsigned char>(value), size); });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return in_context([=] { return cuStreamCreate(stream, 0); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return in_context([=] { return cuStreamCreate(stream, flags); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return runtime(cuStreamDestroy(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return in_context([=] { return cuStreamSynchronize(stream); });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return in_context([=] { return cuEventCreate(event, 0); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return runtime(cuEventDestroy(event)); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return in_context([=] { return cuEventRecord(event, stream); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return runtime(cuEventSynchronize(event)); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return runtime(cuEventElapsedTime(milliseconds, start, end));
}

// nvcc's code for a kernel calls these.
void** __cudaRegisterFatBinary(void*) {
  static void* none;
  return &none;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void*) { return 0; }
cudaError_t __cudaPopCallConfiguration(void*, void*, size_t*, void*) { return cudaSuccess; }
cudaError_t __cudaGetKernel(void* kernel, const void*) { return *static_cast<void**>(kernel) = nullptr, cudaSuccess; }
cudaError_t __cudaLaunchKernel(void*, dim3, dim3, void**, size_t, cudaStream_t) { return cudaSuccess; }

// --- cuBLAS

cublasStatus_t cublasCreate_v2(cublasHandle_t* out) {
  *out = reinterpret_cast<cublasHandle_t>(&handle);
  return ready() == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetStream_v2(cublasHandle_t, cudaStream_t* stream) { return *stream = nullptr, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }

#define FOR(LETTER, NUMBER)                                                                                                     \
  cublasStatus_t cublas##LETTER##asum_v2(cublasHandle_t, int n, const NUMBER* x, int step, NUMBER* out) {                       \
    return sum<NUMBER>(n, x, step, nullptr, 0, out);                                                                            \
  }                                                                                                                             \
  cublasStatus_t cublas##LETTER##dot_v2(cublasHandle_t, int n, const NUMBER* x, int step, const NUMBER* y, int y_step, NUMBER* out) { \
    return sum<NUMBER>(n, x, step, y, y_step, out);                                                                             \
  }                                                                                                                             \
  cublasStatus_t cublas##LETTER##axpy_v2(cublasHandle_t, int n, const NUMBER* alpha, const NUMBER* x, int, NUMBER* y, int) {    \
    return axpy<NUMBER>(n, *alpha, x, y);                                                                                       \
  }                                                                                                                             \
  cublasStatus_t cublas##LETTER##copy_v2(cublasHandle_t, int n, const NUMBER* x, int, NUMBER* y, int) {                         \
    return copy<NUMBER>(n, x, y);                                                                                               \
  }                                                                                                                             \
  cublasStatus_t cublas##LETTER##scal_v2(cublasHandle_t, int, const NUMBER*, NUMBER*, int) { return CUBLAS_STATUS_SUCCESS; }    \
  cublasStatus_t cublas##LETTER##gemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const NUMBER*,    \
                                         const NUMBER*, int, const NUMBER*, int, const NUMBER*, NUMBER*, int) {                 \
    return CUBLAS_STATUS_SUCCESS;                                                                                               \
  }                                                                                                                             \
  cublasStatus_t cublas##LETTER##gemv_v2(cublasHandle_t, cublasOperation_t, int, int, const NUMBER*, const NUMBER*, int,        \
                                         const NUMBER*, int, const NUMBER*, NUMBER*, int) {                                     \
    return CUBLAS_STATUS_SUCCESS;                                                                                               \
  }
FOR(S, float)
FOR(D, double)

// --- cuRAND

curandStatus_t curandCreateGenerator(curandGenerator_t* out, curandRngType_t) {
  *out = reinterpret_cast<curandGenerator_t>(&handle);
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t, unsigned long long) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandSetGeneratorOffset(curandGenerator_t, unsigned long long) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandGenerate(curandGenerator_t, unsigned*, size_t) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandGenerateUniform(curandGenerator_t, float*, size_t) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandGenerateUniformDouble(curandGenerator_t, double*, size_t) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandGenerateNormal(curandGenerator_t, float*, size_t, float, float) { return CURAND_STATUS_SUCCESS; }
curandStatus_t curandGenerateNormalDouble(curandGenerator_t, double*, size_t, double, double) { return CURAND_STATUS_SUCCESS; }
}
