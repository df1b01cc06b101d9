// The few functions of the CUDA runtime that interplay.cu uses, by driver calls: for a machine without nvcc, and for the
// simulated driver, which no runtime starts on. The kernel is PTX, which the driver compiles for its device.
#ifndef INTERPLAY_DRIVER_CALLS_HPP_
#define INTERPLAY_DRIVER_CALLS_HPP_

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
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

namespace by_driver {

inline void* find(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver ? dlsym(driver, name) : nullptr;
}

template <typename Function>
Function* symbol(const char* name) {
  void* const found = find(name);
  if (found == nullptr) {
    std::fprintf(stderr, "interplay: libcuda.so.1 is not there, or has no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

typedef unsigned long long Address;

inline Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// out[i] = in[i] * factor + offset; without `in`, i + offset. For every device from Maxwell on.
const char kPtx[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry affine(.param .u64 p_out, .param .u64 p_in, .param .s32 p_count, .param .s32 p_factor, .param .s32 p_offset)
{
  .reg .pred %outside, %none;
  .reg .b32 %block, %threads, %thread, %i, %count, %factor, %offset, %value;
  .reg .b64 %out, %in, %place, %from;

  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.s32 %i, %block, %threads, %thread;
  ld.param.s32 %count, [p_count];
  setp.ge.s32 %outside, %i, %count;
  @%outside bra DONE;
  ld.param.u64 %out, [p_out];
  ld.param.u64 %in, [p_in];
  ld.param.s32 %factor, [p_factor];
  ld.param.s32 %offset, [p_offset];
  mov.b32 %value, %i;
  setp.eq.u64 %none, %in, 0;
  @%none bra ADD;
  cvta.to.global.u64 %from, %in;
  mul.wide.s32 %place, %i, 4;
  add.s64 %from, %from, %place;
  ld.global.s32 %value, [%from];
  mul.lo.s32 %value, %value, %factor;
ADD:
  add.s32 %value, %value, %offset;
  cvta.to.global.u64 %out, %out;
  mul.wide.s32 %place, %i, 4;
  add.s64 %out, %out, %place;
  st.global.s32 [%out], %value;
DONE:
  ret;
}
)";

// The kernel's parameters, laid out as PTX aligns them.
struct Parameters {
  Address out, in;
  int count, factor, offset;
};

// On the simulated driver: what the kernel does, with the simulator's own access to memory.
extern "C" inline void stand_in(const void* data, std::size_t) {
  const Parameters& given = *static_cast<const Parameters*>(data);
  const std::size_t bytes = static_cast<std::size_t>(given.count) * sizeof(int);
  std::vector<int> values(static_cast<std::size_t>(given.count));
  if (given.in != 0) symbol<int(Address, void*, std::size_t)>("simcuda_read")(given.in, values.data(), bytes);
  for (int i = 0; i < given.count; ++i) {
    int& value = values[static_cast<std::size_t>(i)];
    value = (given.in != 0 ? value * given.factor : i) + given.offset;
  }
  symbol<int(Address, const void*, std::size_t)>("simcuda_write")(given.out, values.data(), bytes);
}

inline bool is_simulated() { return find("simcuda_is_simulated") != nullptr; }

// The kernel in the current context.
inline cudaError_t kernel(void** function) {
  static std::mutex mutex;
  static std::map<void*, void*> of_context;
  const std::lock_guard<std::mutex> lock(mutex);
  void *context = nullptr, *module = nullptr;
  cudaError_t status = symbol<int(void**)>("cuCtxGetCurrent")(&context);
  if (status != 0) return status;
  void*& known = of_context[context];
  if (known == nullptr) {
    if (is_simulated()) {
      symbol<void(const char*, void (*)(const void*, std::size_t))>("simcuda_stand_in")("affine", &stand_in);
    }
    status = symbol<int(void**, const void*)>("cuModuleLoadData")(&module, kPtx);
    if (status == 0) status = symbol<int(void**, void*, const char*)>("cuModuleGetFunction")(&known, module, "affine");
  }
  *function = known;
  return status;
}

// The result of cudaGetLastError: of launches, which return nothing.
inline cudaError_t& last_error() {
  static cudaError_t error = cudaSuccess;
  return error;
}

}  // namespace by_driver

// The rules that the simulated driver saw broken, as text.
inline std::string broken_rules() {
  if (!by_driver::is_simulated()) return "";
  char text[2000] = "";
  by_driver::symbol<std::size_t(char*, std::size_t)>("simcuda_violations")(text, sizeof text);
  return text;
}

inline cudaError_t cudaGetDeviceCount(int* count) {
  by_driver::symbol<int(unsigned)>("cuInit")(0);
  return by_driver::symbol<int(int*)>("cuDeviceGetCount")(count);
}

// Since CUDA 12 it makes the primary context current.
inline cudaError_t cudaSetDevice(int device) {
  by_driver::symbol<int(unsigned)>("cuInit")(0);
  void* context = nullptr;
  const cudaError_t status = by_driver::symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device);
  return status ? status : by_driver::symbol<int(void*)>("cuCtxSetCurrent")(context);
}
inline cudaError_t cudaGetDevice(int* device) { return by_driver::symbol<int(int*)>("cuCtxGetDevice")(device); }
inline cudaError_t cudaDeviceReset() {
  int device = 0;
  const cudaError_t status = cudaGetDevice(&device);
  return status ? status : by_driver::symbol<int(int)>("cuDevicePrimaryCtxReset_v2")(device);
}
inline cudaError_t cudaDeviceSynchronize() { return by_driver::symbol<int()>("cuCtxSynchronize")(); }
inline cudaError_t cudaGetLastError() { return by_driver::last_error(); }
inline const char* cudaGetErrorString(cudaError_t status) {
  const char* name = nullptr;
  by_driver::symbol<int(int, const char**)>("cuGetErrorName")(status, &name);
  return name ? name : "an unknown status";
}

inline cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return by_driver::symbol<int(void**, std::size_t)>("cuMemAlloc_v2")(pointer, bytes);
}
inline cudaError_t cudaFree(void* pointer) {
  return by_driver::symbol<int(by_driver::Address)>("cuMemFree_v2")(by_driver::address(pointer));
}
inline cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return by_driver::symbol<int(void**, std::size_t, unsigned)>("cuMemHostAlloc")(pointer, bytes, 1);
}
inline cudaError_t cudaFreeHost(void* pointer) { return by_driver::symbol<int(void*)>("cuMemFreeHost")(pointer); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return by_driver::symbol<int(by_driver::Address, by_driver::Address, std::size_t)>("cuMemcpy")(
      by_driver::address(to), by_driver::address(from), bytes);
}
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return by_driver::symbol<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(free, total);
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto get = by_driver::symbol<int(void*, int, by_driver::Address)>("cuPointerGetAttribute");
  unsigned type = 0;
  attributes->device = -1;
  const int kMemoryType = 2, kDeviceOrdinal = 9;
  if (get(&type, kMemoryType, by_driver::address(pointer)) != 0) type = 0;
  attributes->type = static_cast<cudaMemoryType>(type);
  if (type != 0) get(&attributes->device, kDeviceOrdinal, by_driver::address(pointer));
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return by_driver::symbol<int(cudaStream_t*, unsigned)>("cuStreamCreate")(stream, flags);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return by_driver::symbol<int(cudaStream_t)>("cuStreamDestroy_v2")(stream);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return by_driver::symbol<int(cudaStream_t)>("cuStreamSynchronize")(stream);
}

inline void launch(cudaStream_t stream, int* out, const int* in, int count, int factor, int offset) {
  by_driver::Parameters parameters = {by_driver::address(out), by_driver::address(in), count, factor, offset};
  // Without the padding at its end, which the kernel does not have.
  std::size_t size = offsetof(by_driver::Parameters, offset) + sizeof parameters.offset;
  // The parameters as one buffer, and its size.
  void* extra[] = {reinterpret_cast<void*>(1), &parameters, reinterpret_cast<void*>(2), &size, nullptr};
  void* function = nullptr;
  cudaError_t status = by_driver::kernel(&function);
  typedef int Launch(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t, void**,
                     void**);
  const unsigned threads = 256, blocks = (static_cast<unsigned>(count) + threads - 1) / threads;
  if (status == 0) {
    status = by_driver::symbol<Launch>("cuLaunchKernel")(function, blocks, 1, 1, threads, 1, 1, 0, stream, nullptr, extra);
  }
  if (status != 0) by_driver::last_error() = status;
}

#endif  // INTERPLAY_DRIVER_CALLS_HPP_
