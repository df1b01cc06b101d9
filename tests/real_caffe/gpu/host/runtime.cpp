// The CUDA runtime's functions on the simulated driver's, and the launch of kernels.
#include "cuda_runtime.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

// The functions of cuda.h and simulated_cuda.h that are called here.
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
extern "C" {
CUresult cuInit(unsigned flags);
CUresult cuGetErrorString(CUresult status, const char** text);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGetName(char* name, int length, int device);
CUresult cuDeviceGetAttribute(int* value, int attribute, int device);
CUresult cuDeviceTotalMem_v2(size_t* bytes, int device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, int device);
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetDevice(int* device);
CUresult cuCtxSynchronize();
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void* address);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaStream_t stream);
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuStreamCreate(cudaStream_t* stream, unsigned flags);
CUresult cuStreamDestroy_v2(cudaStream_t stream);
CUresult cuStreamSynchronize(cudaStream_t stream);
CUresult cuEventCreate(cudaEvent_t* event, unsigned flags);
CUresult cuEventDestroy_v2(cudaEvent_t event);
CUresult cuEventRecord(cudaEvent_t event, cudaStream_t stream);
CUresult cuEventSynchronize(cudaEvent_t event);
CUresult cuEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
int simcuda_launch(const char* kernel, cudaStream_t stream, const host_cuda::Use* uses, size_t count,
                   void (*run)(void* argument, void* const* bytes), void* argument);
}

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr int kMostDevices = 16;
constexpr unsigned kPortable = 1;

// The error of a launch, which returns nothing.
__thread cudaError_t last_error = cudaSuccess;

CUdeviceptr device(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
cudaError_t runtime(CUresult status) { return static_cast<cudaError_t>(status); }

// The primary context, which stays retained.
CUresult use_device(int ordinal) {
  static CUcontext contexts[kMostDevices];
  static CUresult statuses[kMostDevices];
  static std::once_flag once[kMostDevices];
  if (ordinal < 0 || ordinal >= kMostDevices) return 101;
  std::call_once(once[ordinal], [=] { statuses[ordinal] = cuDevicePrimaryCtxRetain(&contexts[ordinal], ordinal); });
  return statuses[ordinal] ? statuses[ordinal] : cuCtxSetCurrent(contexts[ordinal]);
}

// Prints, beside the simulated driver's report, how much of the living memory the library's pools keep idle.
void report_idle_memory() {
  const auto idle_bytes = reinterpret_cast<int (*)(int, size_t*)>(dlsym(RTLD_DEFAULT, "syncedmem_idle_bytes"));
  size_t pinned = 0, device = 0;
  if (idle_bytes) {
    idle_bytes(1, &pinned);
    idle_bytes(2, &device);
  }
  std::fprintf(stderr, "simulated CUDA: idle in pools: device=%zu pinned=%zu\n", device, pinned);
}

CUresult initialise() {
  const CUresult status = cuInit(0);
  // Runs before the driver's handler, which cuInit registers.
  if (!status && std::getenv("SIMCUDA_REPORT")) std::atexit(report_idle_memory);
  return status;
}

// Like CUDA's runtime, the first call makes device 0 current in a thread that has none. It asks once, so that the counts of the driver's calls
// are those of the memory layer.
CUresult ready() {
  static const CUresult initialised = initialise();
  static thread_local const CUresult used = [] {
    CUcontext current = nullptr;
    const CUresult status = initialised ? initialised : cuCtxGetCurrent(&current);
    return status || current ? status : use_device(0);
  }();
  return used;
}

template <typename Call>
cudaError_t in_context(Call call) {
  const CUresult status = ready();
  return runtime(status ? status : call());
}

void run_and_delete(void* argument, void* const* bytes) {
  const std::unique_ptr<host_cuda::Work> work(static_cast<host_cuda::Work*>(argument));
  (*work)(bytes);
}

}  // namespace

namespace host_cuda {

__thread bool before_barrier, met_barrier;

bool has_fault(const char* name) {
  static const char* const chosen = std::getenv("HOST_CUDA_FAULT");
  return chosen && !std::strcmp(chosen, name);
}

cudaError_t queue(const char* name, cudaStream_t stream, const std::vector<Use>& uses, Work work) {
  if (has_fault("convolutions are not joined") && std::strstr(name, "conv_groups")) return cudaSuccess;
  auto owned = std::make_unique<Work>(std::move(work));
  const cudaError_t error =
      in_context([&] { return simcuda_launch(name, stream, uses.data(), uses.size(), &run_and_delete, owned.get()); });
  // Work that the driver drops later, as in a broken context, is lost.
  if (error == cudaSuccess) owned.release();
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace host_cuda

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return in_context([=] { return cuDeviceGetCount(count); });
}
cudaError_t cudaGetDevice(int* ordinal) {
  return in_context([=] { return cuCtxGetDevice(ordinal); });
}
cudaError_t cudaSetDevice(int ordinal) {
  const CUresult status = cuInit(0);
  return runtime(status ? status : use_device(ordinal));
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  std::memset(properties, 0, sizeof *properties);
  return in_context([=] {
    // Numbers of CUdevice_attribute.
    const std::pair<int*, int> attributes[] = {
        {&properties->maxThreadsPerBlock, 1}, {&properties->maxThreadsDim[0], 2}, {&properties->maxThreadsDim[1], 3},
        {&properties->maxThreadsDim[2], 4},   {&properties->maxGridSize[0], 5},   {&properties->maxGridSize[1], 6},
        {&properties->maxGridSize[2], 7},     {&properties->warpSize, 10},        {&properties->regsPerBlock, 12},
        {&properties->multiProcessorCount, 16}, {&properties->unifiedAddressing, 41}, {&properties->major, 75},
        {&properties->minor, 76}};
    CUresult status = cuDeviceGetName(properties->name, sizeof properties->name, ordinal);
    if (!status) status = cuDeviceTotalMem_v2(&properties->totalGlobalMem, ordinal);
    for (const auto& attribute : attributes)
      if (!status) status = cuDeviceGetAttribute(attribute.first, attribute.second, ordinal);
    return status;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  return in_context([=] { return cuDeviceGetAttribute(value, attribute, ordinal); });
}
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  return cuGetErrorString(error, &text) ? "unknown error" : text;
}

cudaError_t cudaMalloc(void** block, size_t size) {
  CUdeviceptr address = 0;
  const cudaError_t error = in_context([&] { return size ? cuMemAlloc_v2(&address, size) : 0; });
  *block = reinterpret_cast<void*>(address);
  return error;
}
// The runtime's waits for the device; the driver's need not.
cudaError_t cudaFree(void* block) {
  return in_context([=] {
    const CUresult status = block ? cuCtxSynchronize() : 0;
    return status || !block ? status : cuMemFree_v2(device(block));
  });
}
cudaError_t cudaMallocHost(void** block, size_t size) {
  return in_context([=] { return cuMemHostAlloc(block, size ? size : 1, kPortable); });
}
cudaError_t cudaFreeHost(void* block) {
  return in_context([=] {
    const CUresult status = block ? cuCtxSynchronize() : 0;
    return status || !block ? status : cuMemFreeHost(block);
  });
}
// Addresses are unified: they say the direction.
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  return in_context([=] { return cuMemcpy(device(to), device(from), size); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  return in_context([=] { return cuMemcpyAsync(device(to), device(from), size, stream); });
}
cudaError_t cudaMemset(void* block, int value, size_t size) {
  return in_context([=] { return size ? cuMemsetD8_v2(device(block), static_cast<unsigned char>(value), size) : 0; });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (host_cuda::has_fault("no stream waits for the legacy stream")) flags = cudaStreamNonBlocking;
  return in_context([=] { return cuStreamCreate(stream, flags); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return in_context([=] { return cuStreamDestroy_v2(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return in_context([=] { return cuStreamSynchronize(stream); });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return in_context([=] { return cuEventCreate(event, 0); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return in_context([=] { return cuEventDestroy_v2(event); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return in_context([=] { return cuEventRecord(event, stream); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return in_context([=] { return cuEventSynchronize(event); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return in_context([=] { return cuEventElapsedTime(milliseconds, start, end); });
}
}
