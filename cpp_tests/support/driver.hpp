// The CUDA driver for the tests' own calls, and the controls of the simulated driver, looked up in the process's
// libcuda.so.1. Without controls, on a real driver, they do nothing, or the test is skipped.
#ifndef SUPPORT_DRIVER_HPP
#define SUPPORT_DRIVER_HPP

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulated_cuda.h"

struct CUctx_st;
struct CUstream_st;

namespace driver {

typedef int Status;
typedef int Device;
typedef unsigned long long Address;
typedef CUctx_st* Context;
typedef CUstream_st* Stream;

inline void* library() {
  static void* const opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return opened;
}

/// A driver function by its name.
struct Symbol {
  const char* name;

  template <typename Function>
  operator Function*() const {
    void* found = library() ? dlsym(library(), name) : nullptr;
    if (!found) {
      std::fprintf(stderr, "these tests need a driver, such as the simulated one in LD_LIBRARY_PATH: no %s\n", name);
      std::abort();
    }
    return reinterpret_cast<Function*>(found);
  }
};

struct Api {
  Status (*cuInit)(unsigned flags) = Symbol{"cuInit"};
  Status (*cuDeviceGetCount)(int* count) = Symbol{"cuDeviceGetCount"};
  Status (*cuCtxGetCurrent)(Context* context) = Symbol{"cuCtxGetCurrent"};
  Status (*cuCtxSetCurrent)(Context context) = Symbol{"cuCtxSetCurrent"};
  Status (*cuDevicePrimaryCtxRetain)(Context* context, Device device) = Symbol{"cuDevicePrimaryCtxRetain"};
  Status (*cuDevicePrimaryCtxRelease_v2)(Device device) = Symbol{"cuDevicePrimaryCtxRelease_v2"};
  Status (*cuMemAlloc_v2)(Address* address, std::size_t bytes) = Symbol{"cuMemAlloc_v2"};
  Status (*cuMemFree_v2)(Address address) = Symbol{"cuMemFree_v2"};
  Status (*cuMemcpy)(Address to, Address from, std::size_t bytes) = Symbol{"cuMemcpy"};
  Status (*cuStreamCreate)(Stream* stream, unsigned flags) = Symbol{"cuStreamCreate"};
  Status (*cuStreamDestroy_v2)(Stream stream) = Symbol{"cuStreamDestroy_v2"};
  Status (*cuStreamSynchronize)(Stream stream) = Symbol{"cuStreamSynchronize"};
};

/// The simulated driver's controls, without their prefix.
struct Controls {
  decltype(&simcuda_fail) fail = Symbol{"simcuda_fail"};
  decltype(&simcuda_clear_faults) clear_faults = Symbol{"simcuda_clear_faults"};
  decltype(&simcuda_release_streams) release_streams = Symbol{"simcuda_release_streams"};
  decltype(&simcuda_set_lag) set_lag = Symbol{"simcuda_set_lag"};
  decltype(&simcuda_log) log = Symbol{"simcuda_log"};
  decltype(&simcuda_clear_log) clear_log = Symbol{"simcuda_clear_log"};
  decltype(&simcuda_account) account = Symbol{"simcuda_account"};
  decltype(&simcuda_violations) violations = Symbol{"simcuda_violations"};
  decltype(&simcuda_read) read = Symbol{"simcuda_read"};
  decltype(&simcuda_write) write = Symbol{"simcuda_write"};
};

inline bool is_simulated() {
  static const bool found =
      library() && dlsym(library(), "simcuda_is_simulated") && !std::getenv("SYNCEDMEM_TESTS_AS_ON_A_REAL_DRIVER");
  return found;
}

inline const Api& api() {
  static const Api found;
  return found;
}

inline const Controls& simulator() {
  static const Controls found;
  return found;
}

inline int devices() {
  int count = 0;
  if (api().cuInit(0) == 0) api().cuDeviceGetCount(&count);
  return count;
}

/// Trims the library's pools if the process has its C API.
inline void trim() {
  typedef int (*Trim)(int);
  const Trim trim = reinterpret_cast<Trim>(::dlsym(RTLD_DEFAULT, "syncedmem_trim"));
  if (trim != nullptr) trim(3 /* SYNCEDMEM_MEMORY_ALL */);
}

/// The simulated driver's account, after a trim.
inline simcuda_account_t account() {
  trim();
  simcuda_account_t account = {};
  account.size = sizeof account;
  if (is_simulated()) simulator().account(&account);
  return account;
}

inline void clear_log() {
  if (is_simulated()) simulator().clear_log();
}

/// The calls since the log was cleared, one on each line.
inline std::string log() {
  if (!is_simulated()) return "";
  std::vector<char> text(simulator().log(nullptr, 0) + 1);
  simulator().log(text.data(), text.size());
  return text.data();
}

inline void set_lag(unsigned microseconds) {
  if (is_simulated()) simulator().set_lag(microseconds);
}

inline Address address(const void* device_data) { return reinterpret_cast<Address>(device_data); }

/// Makes a context current on this thread while this lives.
class Current {
 public:
  explicit Current(Context context) {
    api().cuCtxGetCurrent(&before_);
    api().cuCtxSetCurrent(context);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() { api().cuCtxSetCurrent(before_); }

 private:
  Context before_ = nullptr;
};

/// Retains a primary context while this lives.
class Primary {
 public:
  explicit Primary(Device device) : device_(device) {
    api().cuInit(0);
    api().cuDevicePrimaryCtxRetain(&context_, device);
  }
  Primary(const Primary&) = delete;
  Primary& operator=(const Primary&) = delete;
  ~Primary() { api().cuDevicePrimaryCtxRelease_v2(device_); }

  Context get() const { return context_; }

 private:
  Device device_;
  Context context_ = nullptr;
};

/// The bytes at an address, after the work in the default stream. Empty if they cannot be read.
inline std::vector<unsigned char> read(const void* device_data, std::size_t bytes) {
  std::vector<unsigned char> read(bytes);
  if (!bytes) return read;
  const Primary primary(0);
  const Current current(primary.get());
  Status status = api().cuStreamSynchronize(nullptr);
  if (status == 0) {
    // This call is not logged.
    status = is_simulated() ? simulator().read(address(device_data), read.data(), bytes)
                            : api().cuMemcpy(address(read.data()), address(device_data), bytes);
  }
  if (status != 0) read.clear();
  return read;
}

/// Writes as a kernel in the default stream would. Returns whether that worked.
inline bool write(void* device_data, const void* values, std::size_t bytes) {
  if (!bytes) return true;
  const Primary primary(0);
  const Current current(primary.get());
  if (api().cuStreamSynchronize(nullptr) != 0) return false;
  if (is_simulated()) return simulator().write(address(device_data), values, bytes) == 0;
  return api().cuMemcpy(address(device_data), address(values), bytes) == 0;
}

inline bool fill(void* device_data, unsigned char value, std::size_t bytes) {
  const std::vector<unsigned char> values(bytes, value);
  return write(device_data, values.data(), bytes);
}

class Block {
 public:
  explicit Block(std::size_t bytes) {
    const Current current(primary_.get());
    api().cuMemAlloc_v2(&address_, bytes);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    const Current current(primary_.get());
    api().cuMemFree_v2(address_);
  }

  void* data() const { return reinterpret_cast<void*>(address_); }

 private:
  Primary primary_{0};
  Address address_ = 0;
};

/// A non-blocking stream, like Caffe's prefetch stream.
class NonBlockingStream {
 public:
  NonBlockingStream() {
    const Current current(primary_.get());
    constexpr unsigned non_blocking = 1;
    api().cuStreamCreate(&stream_, non_blocking);
  }
  NonBlockingStream(const NonBlockingStream&) = delete;
  NonBlockingStream& operator=(const NonBlockingStream&) = delete;
  ~NonBlockingStream() { api().cuStreamDestroy_v2(stream_); }

  Stream get() const { return stream_; }

 private:
  Primary primary_{0};
  Stream stream_ = nullptr;
};

}  // namespace driver

#endif  // SUPPORT_DRIVER_HPP
