// The few functions of the CUDA runtime that interplay.cu uses, on the driver's calls and the simulated driver's
// controls: it shows on a machine without a GPU that the program is in order. It proves nothing about the runtime.
#ifndef INTERPLAY_RUNTIME_STAND_IN_HPP_
#define INTERPLAY_RUNTIME_STAND_IN_HPP_

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct CUstream_st;
typedef CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
enum { cudaStreamNonBlocking = 1 };
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};

namespace stand_in {

template <typename Function>
Function* symbol(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* found = driver ? dlsym(driver, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "interplay: no simulated driver: libcuda.so.1 has no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

typedef unsigned long long Address;

inline Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// What the real kernel does, in the order of its stream: a host function may use the simulator's controls.
struct Kernel {
  int* out;
  const int* in;
  int count, factor, offset;

  static void run(void* user) {
    Kernel* kernel = static_cast<Kernel*>(user);
    const std::size_t bytes = static_cast<std::size_t>(kernel->count) * sizeof(int);
    std::vector<int> values(static_cast<std::size_t>(kernel->count));
    const auto read = symbol<int(Address, void*, std::size_t)>("simcuda_read");
    if (kernel->in != nullptr) read(address(kernel->in), values.data(), bytes);
    for (int i = 0; i < kernel->count; ++i) {
      int& value = values[static_cast<std::size_t>(i)];
      value = (kernel->in != nullptr ? value * kernel->factor : i) + kernel->offset;
    }
    symbol<int(Address, const void*, std::size_t)>("simcuda_write")(address(kernel->out), values.data(), bytes);
    delete kernel;
  }
};

}  // namespace stand_in

// The rules that the simulated driver saw broken, as text.
inline std::string broken_rules() {
  char text[2000] = "";
  stand_in::symbol<std::size_t(char*, std::size_t)>("simcuda_violations")(text, sizeof text);
  return text;
}

inline cudaError_t cudaGetDeviceCount(int* count) {
  stand_in::symbol<int(unsigned)>("cuInit")(0);
  return stand_in::symbol<int(int*)>("cuDeviceGetCount")(count);
}

// Since CUDA 12 it makes the primary context current.
inline cudaError_t cudaSetDevice(int device) {
  stand_in::symbol<int(unsigned)>("cuInit")(0);
  void* context = nullptr;
  const cudaError_t status = stand_in::symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device);
  return status ? status : stand_in::symbol<int(void*)>("cuCtxSetCurrent")(context);
}
inline cudaError_t cudaGetDevice(int* device) { return stand_in::symbol<int(int*)>("cuCtxGetDevice")(device); }
inline cudaError_t cudaDeviceReset() {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  return status ? status : stand_in::symbol<int(int)>("cuDevicePrimaryCtxReset_v2")(device);
}
inline cudaError_t cudaDeviceSynchronize() { return stand_in::symbol<int()>("cuCtxSynchronize")(); }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "an error of the simulated driver"; }

inline cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return stand_in::symbol<int(void**, std::size_t)>("cuMemAlloc_v2")(pointer, bytes);
}
inline cudaError_t cudaFree(void* pointer) {
  return stand_in::symbol<int(stand_in::Address)>("cuMemFree_v2")(stand_in::address(pointer));
}
inline cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return stand_in::symbol<int(void**, std::size_t, unsigned)>("cuMemHostAlloc")(pointer, bytes, 1);
}
inline cudaError_t cudaFreeHost(void* pointer) { return stand_in::symbol<int(void*)>("cuMemFreeHost")(pointer); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return stand_in::symbol<int(stand_in::Address, stand_in::Address, std::size_t)>("cuMemcpy")(
      stand_in::address(to), stand_in::address(from), bytes);
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return stand_in::symbol<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(free, total);
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto get = stand_in::symbol<int(void*, int, stand_in::Address)>("cuPointerGetAttribute");
  unsigned type = 0;
  attributes->device = -1;
  const int kMemoryType = 2, kDeviceOrdinal = 9;
  if (get(&type, kMemoryType, stand_in::address(pointer)) != 0) type = 0;
  attributes->type = static_cast<cudaMemoryType>(type);
  if (type != 0) get(&attributes->device, kDeviceOrdinal, stand_in::address(pointer));
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return stand_in::symbol<int(cudaStream_t*, unsigned)>("cuStreamCreate")(stream, flags);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return stand_in::symbol<int(cudaStream_t)>("cuStreamDestroy_v2")(stream);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stand_in::symbol<int(cudaStream_t)>("cuStreamSynchronize")(stream);
}

inline void launch(cudaStream_t stream, int* out, const int* in, int count, int factor, int offset) {
  stand_in::Kernel* kernel = new stand_in::Kernel{out, in, count, factor, offset};
  const auto queue = stand_in::symbol<int(cudaStream_t, void (*)(void*), void*)>("cuLaunchHostFunc");
  if (queue(stream, &stand_in::Kernel::run, kernel) != 0) delete kernel;
}

#endif  // INTERPLAY_RUNTIME_STAND_IN_HPP_
