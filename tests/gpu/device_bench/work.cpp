#include "work.hpp"

#include "watch.hpp"

double acquire_device(const Library& library, std::size_t bytes, long calls) {
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

double acquire_pinned(const Library& library, std::size_t bytes, long calls) {
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
double raw_acquire_device(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free(allocator.allocate(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_acquire_device(const Driver&, std::size_t, long);
template double raw_acquire_device(const Runtime&, std::size_t, long);
template double raw_acquire_device(const Pool&, std::size_t, long);

template <typename Allocator>
double raw_acquire_pinned(const Allocator& allocator, std::size_t bytes, long calls) {
  const Watch watch;
  for (long i = 0; i < calls; ++i) allocator.free_pinned(allocator.allocate_pinned(bytes));
  return watch.nanoseconds() / static_cast<double>(calls);
}
template double raw_acquire_pinned(const Driver&, std::size_t, long);
template double raw_acquire_pinned(const Runtime&, std::size_t, long);
