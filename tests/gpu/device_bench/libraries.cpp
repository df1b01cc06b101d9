#include "libraries.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "report.hpp"

void die(const std::string& sentence) { report::give_up(sentence); }

namespace {

template <typename Function>
bool found(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

template <typename Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  if (!found(library, name, function)) die(path + " has no " + name);
}

void* open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) die(dlerror());
  return library;
}

const char kNoDriver[] = "no CUDA driver: ";

const unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE: as the library pins

}  // namespace

std::string Driver::missing(const std::string& path, int device) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kNoDriver + std::string(dlerror());
  Status (*init)(unsigned), (*get_count)(int*);
  if (!found(library, "cuInit", init) || !found(library, "cuDeviceGetCount", get_count)) {
    return kNoDriver + path + " is none";
  }
  if (const Status status = init(0)) return "no GPU: cuInit returned " + std::to_string(status);
  int count = 0;
  if (const Status status = get_count(&count)) return "no GPU: cuDeviceGetCount returned " + std::to_string(status);
  return device < count ? "" : "no GPU: there are " + std::to_string(count) + " devices, and none is " + std::to_string(device);
}

Driver::Driver(const std::string& path, int device) : library_(open(path)) {
  void* library = library_;
  Status (*init)(unsigned), (*get_version)(int*), (*get_device)(int*, int), (*get_name)(char*, int, int);
  Status (*retain)(void**, int);
  find(library, path, "cuInit", init);
  find(library, path, "cuDriverGetVersion", get_version);
  find(library, path, "cuDeviceGet", get_device);
  find(library, path, "cuDeviceGetName", get_name);
  find(library, path, "cuDevicePrimaryCtxRetain", retain);
  find(library, path, "cuCtxSetCurrent", set_current_);
  find(library, path, "cuMemAlloc_v2", allocate_);
  find(library, path, "cuMemFree_v2", free_);
  find(library, path, "cuMemHostAlloc", allocate_pinned_);
  find(library, path, "cuMemFreeHost", free_pinned_);
  find(library, path, "cuMemcpy", copy_);
  find(library, path, "cuCtxSynchronize", synchronize_);
  find(library, path, "cuMemGetInfo_v2", memory_);
  find(library, path, "cuMemsetD8_v2", fill_);
  find(library, path, "cuMemHostRegister_v2", register_);
  find(library, path, "cuMemHostUnregister", unregister_);
  find(library, path, "cuPointerGetAttribute", attribute_);
  simulated = found(library, "simcuda_calls", calls_);

  if (const Status status = init(0)) fail("cuInit", status);
  if (const Status status = get_version(&version)) fail("cuDriverGetVersion", status);
  if (const Status status = get_device(&handle, device)) fail("cuDeviceGet", status);
  char name[256] = "";
  if (const Status status = get_name(name, sizeof name, handle)) fail("cuDeviceGetName", status);
  device_name = name;
  if (const Status status = retain(&context, handle)) fail("cuDevicePrimaryCtxRetain", status);
  make_current();

  Status (*get_attribute)(int*, int, int), (*get_pool)(void**, int);
  const int kMemoryPoolsSupported = 115;  // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
  int supported = 0;
  if (found(library, "cuMemAllocAsync", allocate_from_pool_) && found(library, "cuMemFreeAsync", free_to_pool_) &&
      found(library, "cuMemPoolSetAttribute", set_pool_) && found(library, "cuMemPoolTrimTo", trim_pool_) &&
      found(library, "cuDeviceGetDefaultMemPool", get_pool) && found(library, "cuDeviceGetAttribute", get_attribute) &&
      get_attribute(&supported, kMemoryPoolsSupported, handle) == 0 && supported != 0) {
    if (const Status status = get_pool(&pool_, handle)) fail("cuDeviceGetDefaultMemPool", status);
  }
}

void Driver::fail(const char* call, Status status) {
  die(std::string(call) + " returned " + std::to_string(status));
}

void* Driver::symbol(const char* name) const { return dlsym(library_, name); }

void Driver::make_current() const {
  if (const Status status = set_current_(context)) fail("cuCtxSetCurrent", status);
}

void* Driver::allocate(std::size_t bytes) const {
  Address address = 0;
  if (const Status status = allocate_(&address, bytes)) fail("cuMemAlloc", status);
  return reinterpret_cast<void*>(address);
}

void Driver::free(void* address) const {
  if (const Status status = free_(reinterpret_cast<Address>(address))) fail("cuMemFree", status);
}

void* Driver::allocate_pinned(std::size_t bytes) const {
  void* address = nullptr;
  if (const Status status = allocate_pinned_(&address, bytes, kPortable)) fail("cuMemHostAlloc", status);
  return address;
}

void Driver::free_pinned(void* address) const {
  if (const Status status = free_pinned_(address)) fail("cuMemFreeHost", status);
}

void Driver::synchronize() const {
  if (const Status status = synchronize_()) fail("cuCtxSynchronize", status);
}

std::size_t Driver::free_bytes() const {
  std::size_t free = 0, total = 0;
  if (const Status status = memory_(&free, &total)) fail("cuMemGetInfo", status);
  return free;
}

void Driver::fill(void* address, std::size_t bytes, unsigned char value) const {
  if (const Status status = fill_(reinterpret_cast<Address>(address), value, bytes)) fail("cuMemsetD8", status);
}

Driver::Status Driver::register_host(void* address, std::size_t bytes) const {
  return register_(address, bytes, kPortable);
}

void Driver::unregister_host(void* address) const {
  if (const Status status = unregister_(address)) fail("cuMemHostUnregister", status);
}

bool Driver::is_page_locked(const void* address) const {
  const int kMemoryType = 2;      // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  const unsigned kHostMemory = 1;  // CU_MEMORYTYPE_HOST
  unsigned type = 0;
  // The driver returns an error for unknown memory, which is the answer.
  return attribute_(&type, kMemoryType, reinterpret_cast<Address>(address)) == 0 && type == kHostMemory;
}

void* Driver::allocate_from_pool(std::size_t bytes) const {
  Address address = 0;
  if (const Status status = allocate_from_pool_(&address, bytes, nullptr)) fail("cuMemAllocAsync", status);
  return reinterpret_cast<void*>(address);
}

void Driver::free_to_pool(void* address) const {
  if (const Status status = free_to_pool_(reinterpret_cast<Address>(address), nullptr)) fail("cuMemFreeAsync", status);
}

void Driver::keep_pool() const {
  const int kReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
  std::uint64_t everything = UINT64_MAX;
  if (const Status status = set_pool_(pool_, kReleaseThreshold, &everything)) fail("cuMemPoolSetAttribute", status);
}

void Driver::empty_pool() const {
  synchronize();
  if (const Status status = trim_pool_(pool_, 0)) fail("cuMemPoolTrimTo", status);
}

std::size_t Driver::calls(const char* function) const { return calls_ == nullptr ? 0 : calls_(function); }

Runtime::Runtime(const std::string& path, int device) {
  if (path == "none") return;
  void* library = nullptr;
  if (!path.empty()) {
    library = open(path);
    name = path.substr(path.rfind('/') + 1);
  } else {
    for (const char* candidate : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
      library = dlopen(candidate, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      name = candidate;
      break;
    }
  }
  if (library == nullptr) return;
  int (*set_device)(int);
  find(library, name, "cudaSetDevice", set_device);
  find(library, name, "cudaMalloc", allocate_);
  find(library, name, "cudaFree", free_);
  find(library, name, "cudaMallocHost", allocate_pinned_);
  find(library, name, "cudaFreeHost", free_pinned_);
  find(library, name, "cudaMemset", fill_);
  find(library, name, "cudaMemcpy", copy_);
  const int status = set_device(device);
  if (status == 0) return;
  // Such as a runtime newer than the driver.
  name += ", which cannot be used: cudaSetDevice returned " + std::to_string(status);
  copy_ = nullptr;
}

void Runtime::fail(const char* call, int status) { die(std::string(call) + " returned " + std::to_string(status)); }

void* Runtime::allocate(std::size_t bytes) const {
  void* address = nullptr;
  if (const int status = allocate_(&address, bytes)) fail("cudaMalloc", status);
  return address;
}

void Runtime::free(void* address) const {
  if (const int status = free_(address)) fail("cudaFree", status);
}

void* Runtime::allocate_pinned(std::size_t bytes) const {
  void* address = nullptr;
  if (const int status = allocate_pinned_(&address, bytes)) fail("cudaMallocHost", status);
  return address;
}

void Runtime::free_pinned(void* address) const {
  if (const int status = free_pinned_(address)) fail("cudaFreeHost", status);
}

void Runtime::fill(void* address, std::size_t bytes) const {
  if (const int status = fill_(address, 0, bytes)) fail("cudaMemset", status);
}

Library::Library(const std::string& path) {
  void* library = open(path);
  find(library, path, "syncedmem_create", create);
  find(library, path, "syncedmem_destroy", destroy);
  find(library, path, "syncedmem_cpu_data", cpu_data);
  find(library, path, "syncedmem_gpu_data", gpu_data);
  find(library, path, "syncedmem_mutable_cpu_data", mutable_cpu_data);
  find(library, path, "syncedmem_mutable_gpu_data", mutable_gpu_data);
  find(library, path, "syncedmem_overwrite_cpu_data", overwrite_cpu_data);
  find(library, path, "syncedmem_overwrite_gpu_data", overwrite_gpu_data);
  find(library, path, "syncedmem_set_cpu_data", set_cpu_data);
  find(library, path, "syncedmem_set_gpu_data", set_gpu_data);
  find(library, path, "syncedmem_async_gpu_push", async_gpu_push);
  find(library, path, "syncedmem_async_cpu_pull", async_cpu_pull);
  find(library, path, "syncedmem_wait", wait);
  find(library, path, "syncedmem_record_stream", record_stream);
  find(library, path, "syncedmem_set_accounting", set_accounting);
  find(library, path, "syncedmem_stats", stats);
  find(library, path, "syncedmem_is_pinned", is_pinned);
  find(library, path, "syncedmem_pin", pin);
  find(library, path, "syncedmem_unpin", unpin);
  find(library, path, "syncedmem_trim", trim);
  find(library, path, "syncedmem_idle_bytes", idle_bytes);
  find(library, path, "syncedmem_set_pinning", set_pinning);
  find(library, path, "syncedmem_cuda_status", cuda_status);
  find(library, path, "syncedmem_last_error", last_error);
  find(library, path, "syncedmem_version", version);
}

Library Library::again(const std::string& path) {
  // The loader recognises a file.
  void* first = open(path);
  void* symbol = dlsym(first, "syncedmem_version");
  Dl_info where;
  if (symbol == nullptr || dladdr(symbol, &where) == 0) die(path + " cannot be found again");
  const int from = ::open(where.dli_fname, O_RDONLY | O_CLOEXEC);
  // In the C library from 2.27 on; 1 is MFD_CLOEXEC.
  const int to = static_cast<int>(syscall(SYS_memfd_create, "libsyncedmem", 1u));
  if (from < 0 || to < 0) die(path + " cannot be copied");
  while (const ssize_t copied = sendfile(to, from, nullptr, std::size_t(1) << 30)) {
    if (copied < 0) die(path + " cannot be copied");
  }
  close(from);
  // Stays open: its number is in the name.
  return Library("/proc/self/fd/" + std::to_string(to));
}

void Library::refuse(const char* call) const {
  const std::string error = last_error();
  // Its own sentences begin with the call.
  die(error.empty() ? std::string("syncedmem_") + call + " failed, and there is no error" : error);
}
