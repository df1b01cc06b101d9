// The contestants, opened at run time: the library's C API, the driver's calls, and the CUDA runtime's, if there is
// one.
#ifndef DEVICE_BENCH_LIBRARIES_HPP_
#define DEVICE_BENCH_LIBRARIES_HPP_

#include <cstddef>
#include <string>

#include "syncedmem.h"

// Counts a failure and ends the process.
[[noreturn]] void die(const std::string& sentence);

// With the device's primary context current.
class Driver {
 public:
  typedef int Status;
  typedef unsigned long long Address;

  Driver(const std::string& path, int device);
  // Opens and starts the driver. Empty if there is a device.
  static std::string missing(const std::string& path, int device);

  // False where this driver lacks it.
  template <typename Function>
  bool entry(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(symbol(name));
    return function != nullptr;
  }
  // On the calling thread too.
  void make_current() const;

  void* allocate(std::size_t bytes) const;
  void free(void* address) const;
  void* allocate_pinned(std::size_t bytes) const;
  void free_pinned(void* address) const;
  void copy(void* to, const void* from, std::size_t bytes) const {
    const Status status = copy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes);
    if (status != 0) fail("cuMemcpy", status);
  }
  void fill(void* address, std::size_t bytes, unsigned char value = 0) const;
  void synchronize() const;
  std::size_t free_bytes() const;
  // Of existing host memory. Some machines refuse it.
  Status register_host(void* address, std::size_t bytes) const;
  void unregister_host(void* address) const;
  bool is_page_locked(const void* address) const;

  // On the legacy default stream, from CUDA 11.2 on.
  bool has_pool() const { return pool_ != nullptr; }
  void* allocate_from_pool(std::size_t bytes) const;
  void free_to_pool(void* address) const;
  // By default the pool keeps all memory that it gets back.
  void keep_pool() const;
  void empty_pool() const;

  // Only the simulated driver counts calls.
  std::size_t calls(const char* function) const;

  std::string device_name;
  int version = 0, handle = 0;
  void* context = nullptr;
  bool simulated = false;

 private:
  void* symbol(const char* name) const;
  [[noreturn]] static void fail(const char* call, Status status);

  void* library_;
  Status (*set_current_)(void*);
  Status (*allocate_)(Address*, std::size_t);
  Status (*free_)(Address);
  Status (*allocate_pinned_)(void**, std::size_t, unsigned);
  Status (*free_pinned_)(void*);
  Status (*copy_)(Address, Address, std::size_t);
  Status (*synchronize_)();
  Status (*memory_)(std::size_t*, std::size_t*);
  Status (*fill_)(Address, unsigned char, std::size_t);
  Status (*register_)(void*, std::size_t, unsigned);
  Status (*unregister_)(void*);
  Status (*attribute_)(void*, int, Address);
  void* pool_ = nullptr;
  Status (*allocate_from_pool_)(Address*, std::size_t, void*) = nullptr;
  Status (*free_to_pool_)(Address, void*) = nullptr;
  Status (*set_pool_)(void*, int, void*) = nullptr;
  Status (*trim_pool_)(void*, std::size_t) = nullptr;
  std::size_t (*calls_)(const char*) = nullptr;
};

// The driver's stream-ordered allocator.
class Pool {
 public:
  explicit Pool(const Driver& driver) : driver_(driver) {}
  void* allocate(std::size_t bytes) const { return driver_.allocate_from_pool(bytes); }
  void free(void* address) const { driver_.free_to_pool(address); }
  void fill(void* address, std::size_t bytes) const { driver_.fill(address, bytes); }

 private:
  const Driver& driver_;
};

// In the same primary context as the driver's calls.
class Runtime {
 public:
  // Empty: the system's. "none": nowhere.
  Runtime(const std::string& path, int device);

  bool there() const { return copy_ != nullptr; }
  void* allocate(std::size_t bytes) const;
  void free(void* address) const;
  void* allocate_pinned(std::size_t bytes) const;
  void free_pinned(void* address) const;
  void fill(void* address, std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes) const {
    const int kDefault = 4;  // cudaMemcpyDefault: as Caffe copies
    const int status = copy_(to, from, bytes, kDefault);
    if (status != 0) fail("cudaMemcpy", status);
  }

  std::string name = "none";

 private:
  [[noreturn]] static void fail(const char* call, int status);

  int (*allocate_)(void**, std::size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*allocate_pinned_)(void**, std::size_t) = nullptr;
  int (*free_pinned_)(void*) = nullptr;
  int (*copy_)(void*, const void*, std::size_t, int) = nullptr;
  int (*fill_)(void*, int, std::size_t) = nullptr;
};

// By the names of its header.
struct Library {
  explicit Library(const std::string& path);

  // From a copy of the file: it shares nothing with the first, and reads its settings anew.
  static Library again(const std::string& path);

  // Ends the program with the library's sentence after an error.
  void must(syncedmem_status_t status, const char* call) const {
    if (status != SYNCEDMEM_SUCCESS) refuse(call);
  }
  [[noreturn]] void refuse(const char* call) const;

  decltype(&syncedmem_create) create;
  decltype(&syncedmem_destroy) destroy;
  decltype(&syncedmem_cpu_data) cpu_data;
  decltype(&syncedmem_gpu_data) gpu_data;
  decltype(&syncedmem_mutable_cpu_data) mutable_cpu_data;
  decltype(&syncedmem_mutable_gpu_data) mutable_gpu_data;
  decltype(&syncedmem_overwrite_cpu_data) overwrite_cpu_data;
  decltype(&syncedmem_overwrite_gpu_data) overwrite_gpu_data;
  decltype(&syncedmem_set_cpu_data) set_cpu_data;
  decltype(&syncedmem_set_gpu_data) set_gpu_data;
  decltype(&syncedmem_async_gpu_push) async_gpu_push;
  decltype(&syncedmem_async_cpu_pull) async_cpu_pull;
  decltype(&syncedmem_wait) wait;
  decltype(&syncedmem_record_stream) record_stream;
  decltype(&syncedmem_is_pinned) is_pinned;
  decltype(&syncedmem_pin) pin;
  decltype(&syncedmem_unpin) unpin;
  decltype(&syncedmem_trim) trim;
  decltype(&syncedmem_idle_bytes) idle_bytes;
  decltype(&syncedmem_set_pinning) set_pinning;
  decltype(&syncedmem_set_accounting) set_accounting;
  decltype(&syncedmem_stats) stats;
  decltype(&syncedmem_cuda_status) cuda_status;
  decltype(&syncedmem_last_error) last_error;
  decltype(&syncedmem_version) version;
};

#endif  // DEVICE_BENCH_LIBRARIES_HPP_
