#include "work.hpp"

#include <chrono>
#include <cstring>

namespace {

class Watch {
 public:
  double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Subject::Subject(const Library& library, std::size_t bytes, bool pinned) : library_(library), bytes_(bytes) {
  library.must(library.set_pinning(pinned ? SYNCEDMEM_PIN_ALWAYS : SYNCEDMEM_PIN_NEVER), "set_pinning");
  library.must(library.create(bytes, &object_), "create");
  library.must(library.mutable_cpu_data(object_, &host_), "mutable_cpu_data");
  // Every page is there before it is measured.
  std::memset(host_, 0x5a, bytes);
  const void* device = nullptr;
  library.must(library.gpu_data(object_, &device), "gpu_data");
  device_ = const_cast<void*>(device);
  library.must(library.is_pinned(object_, &pinned_), "is_pinned");
}

Subject::~Subject() { library_.destroy(object_); }

// Saying which side is newer costs a few nanoseconds; they count against the library.
double Subject::to_device(const Driver& driver, long calls) const {
  void* written = nullptr;
  const void* read = nullptr;
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    library_.must(library_.mutable_cpu_data(object_, &written), "mutable_cpu_data");
    library_.must(library_.gpu_data(object_, &read), "gpu_data");
  }
  const double taken = watch.nanoseconds();
  // What a pageable copy leaves under way is not the next sample's.
  driver.synchronize();
  return taken / static_cast<double>(calls);
}

double Subject::to_host(const Driver& driver, long calls) const {
  void* written = nullptr;
  const void* read = nullptr;
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    library_.must(library_.mutable_gpu_data(object_, &written), "mutable_gpu_data");
    library_.must(library_.cpu_data(object_, &read), "cpu_data");
  }
  const double taken = watch.nanoseconds();
  driver.synchronize();
  return taken / static_cast<double>(calls);
}

double Subject::ready_gpu_data(long calls) const {
  const void* read = nullptr;
  library_.must(library_.gpu_data(object_, &read), "gpu_data");
  const Watch watch;
  for (long i = 0; i < calls; ++i) library_.must(library_.gpu_data(object_, &read), "gpu_data");
  return watch.nanoseconds() / static_cast<double>(calls);
}

double Subject::ready_cpu_data(long calls) const {
  const void* read = nullptr;
  library_.must(library_.cpu_data(object_, &read), "cpu_data");
  const Watch watch;
  for (long i = 0; i < calls; ++i) library_.must(library_.cpu_data(object_, &read), "cpu_data");
  return watch.nanoseconds() / static_cast<double>(calls);
}

template <typename Copier>
double raw_copy(const Copier& copier, const Driver& driver, const Subject& subject, bool to_device, long calls) {
  void* to = to_device ? subject.device() : subject.host();
  const void* from = to_device ? subject.host() : subject.device();
  const Watch watch;
  for (long i = 0; i < calls; ++i) copier.copy(to, from, subject.bytes());
  const double taken = watch.nanoseconds();
  driver.synchronize();
  return taken / static_cast<double>(calls);
}
template double raw_copy(const Driver&, const Driver&, const Subject&, bool, long);
template double raw_copy(const Runtime&, const Driver&, const Subject&, bool, long);

double allocate_device(const Library& library, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    syncedmem_t* object = nullptr;
    void* data = nullptr;
    library.must(library.create(bytes, &object), "create");
    library.must(library.overwrite_gpu_data(object, &data), "overwrite_gpu_data");
    library.must(library.destroy(object), "destroy");
  }
  return watch.nanoseconds() / static_cast<double>(calls);
}

double allocate_pinned(const Library& library, std::size_t bytes, long calls) {
  library.must(library.set_pinning(SYNCEDMEM_PIN_ALWAYS), "set_pinning");
  const Watch watch;
  for (long i = 0; i < calls; ++i) {
    syncedmem_t* object = nullptr;
    void* data = nullptr;
    library.must(library.create(bytes, &object), "create");
    library.must(library.overwrite_cpu_data(object, &data), "overwrite_cpu_data");
    library.must(library.destroy(object), "destroy");
  }
  return watch.nanoseconds() / static_cast<double>(calls);
}

template <typename Allocator>
double raw_allocate_device(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free(allocator.allocate(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_allocate_device(const Driver&, std::size_t, long);
template double raw_allocate_device(const Runtime&, std::size_t, long);

template <typename Allocator>
double raw_allocate_pinned(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free_pinned(allocator.allocate_pinned(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_allocate_pinned(const Driver&, std::size_t, long);
template double raw_allocate_pinned(const Runtime&, std::size_t, long);
