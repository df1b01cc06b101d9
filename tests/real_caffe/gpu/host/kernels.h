// Kernels that run on the CPU: what their code names, and their launch. The makefile rewrites `kernel<<<grid, block>>>(arguments)` to
// host_cuda::launch.
#ifndef HOST_CUDA_KERNELS_H
#define HOST_CUDA_KERNELS_H

#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __host__
// A block's threads run one after the other in one thread of the host.
#define __shared__ static thread_local
// The first pass over a block ends each thread at the barrier, and the second one runs it through: the code before the barrier runs twice,
// which is right where it only copies to shared memory. Caffe has two such kernels, with one barrier each.
#define __syncthreads()              \
  do {                               \
    if (host_cuda::before_barrier) { \
      host_cuda::met_barrier = true; \
      return;                        \
    }                                \
  } while (false)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint3 {
  unsigned x, y, z;
};
// __thread, because each access to a thread_local asks whether a constructor has run.
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

// Threads of a grid do not run at the same time.
template <typename T>
T atomicAdd(T* place, T value) {
  const T old = *place;
  *place = old + value;
  return old;
}
inline unsigned long long atomicCAS(unsigned long long* place, unsigned long long expected, unsigned long long value) {
  const unsigned long long old = *place;
  if (old == expected) *place = value;
  return old;
}
inline long long __double_as_longlong(double value) {
  long long bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

namespace host_cuda {

struct Grid {
  dim3 grid, block;
  cudaStream_t stream;
  Grid(dim3 grid, dim3 block, size_t = 0, cudaStream_t stream = nullptr) : grid(grid), block(block), stream(stream) {}
};

// A device address that a kernel gets, and whether the kernel may write there. The layout is simcuda_use_t's.
struct Use {
  const volatile void* address;
  int writes;
};

// Gets a host address for each use, valid while it runs.
using Work = std::function<void(void* const*)>;

// Whether HOST_CUDA_FAULT names this deliberate fault of the order of work, which the checks must find.
bool has_fault(const char* name);

// Queues work in the order of the stream.
cudaError_t queue(const char* name, cudaStream_t stream, const std::vector<Use>& uses, Work work);

extern __thread bool before_barrier, met_barrier;

template <typename T>
void note(std::vector<Use>&, const T&) {}
template <typename T>
void note(std::vector<Use>& uses, T* pointer) {
  uses.push_back({pointer, !std::is_const<T>::value});
}
template <typename T>
T translated(void* const*&, T value) {
  return value;
}
template <typename T>
T* translated(void* const*& next, T*) {
  return static_cast<T*>(*next++);
}

template <typename Thread>
void for_all_threads(dim3 block, Thread thread) {
  for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
    for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
      for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) thread();
}

template <typename Kernel, typename... Arguments>
void launch(const char* name, Grid on, Kernel kernel, Arguments... arguments) {
  std::vector<Use> uses;
  (note(uses, arguments), ...);
  queue(name, on.stream, uses, [=](void* const* bytes) {
    const std::tuple<Arguments...> here{translated(bytes, arguments)...};
    const auto thread = [&] { std::apply(kernel, here); };
    gridDim = {on.grid.x, on.grid.y, on.grid.z};
    blockDim = {on.block.x, on.block.y, on.block.z};
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
      for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
          met_barrier = false;
          for (const bool first : {true, false}) {
            before_barrier = first;
            if (first || met_barrier) for_all_threads(on.block, thread);
          }
        }
  });
}

}  // namespace host_cuda

#endif
