// A user's C++ program, through the wrapper and, like Caffe, through its own class whose member functions the library defines. It
// catches the exceptions of failures, so unwinding works across the library.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <syncedmem.hpp>

namespace caffe {
// Caffe 1.0's class as its users see it: out-of-line members and 40 bytes of state.
class SyncedMemory {
 public:
  SyncedMemory();
  explicit SyncedMemory(std::size_t size);
  ~SyncedMemory();
  const void* cpu_data();
  void* mutable_cpu_data();

 private:
  alignas(8) unsigned char state_[40];
};
}  // namespace caffe

// Both classes throw std::bad_alloc if memory runs out.
template <typename Use>
bool runs_out_of_memory(Use use) {
  try {
    use(SIZE_MAX / 4);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

int main() {
  syncedmem::SyncedMemory wrapped(16 * sizeof(float));
  wrapped.mutable_cpu_data<float>()[15] = 2.5f;
  const float of_wrapper = wrapped.cpu_data<float>()[15];

  caffe::SyncedMemory plain(16 * sizeof(float));
  static_cast<float*>(plain.mutable_cpu_data())[15] = 4.5f;
  const float of_caffe = static_cast<const float*>(plain.cpu_data())[15];

  const bool wrapper_throws = runs_out_of_memory([](std::size_t n) { syncedmem::SyncedMemory(n).cpu_data(); });
  syncedmem::check(syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_THROW));
  const bool caffe_throws = runs_out_of_memory([](std::size_t n) { caffe::SyncedMemory(n).cpu_data(); });

  std::printf("C++, version %s: %g and %g, bad_alloc from %d of 2\n", syncedmem_version(), of_wrapper, of_caffe,
              wrapper_throws + caffe_throws);
  return !(of_wrapper == 2.5f && of_caffe == 4.5f && wrapper_throws && caffe_throws);
}
