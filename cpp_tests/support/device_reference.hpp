// A reference of SyncedMemory with both sides: the table of docs/caffe-abi.md as code. Its device is host memory.
#ifndef SUPPORT_DEVICE_REFERENCE_HPP
#define SUPPORT_DEVICE_REFERENCE_HPP

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

class DeviceReference {
 public:
  enum Head { uninitialized, head_at_cpu, head_at_gpu, synced };

  explicit DeviceReference(std::size_t size) : size_(size) {}

  const void* cpu_data() { return read(host_, device_, head_at_cpu); }
  void* mutable_cpu_data() { return write(host_, device_, head_at_cpu); }
  const void* gpu_data() { return read(device_, host_, head_at_gpu); }
  void* mutable_gpu_data() { return write(device_, host_, head_at_gpu); }
  void set_cpu_data(void* data) { borrow(host_, data, head_at_cpu); }
  void set_gpu_data(void* data) { borrow(device_, data, head_at_gpu); }
  /// The state after the stream was synchronized.
  void push() {
    if (head_ == head_at_cpu) gpu_data();
  }

  Head head() const { return head_; }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(unsigned char* block) const { std::free(block); }
  };

  struct Side {
    unsigned char* data = nullptr;
    std::unique_ptr<unsigned char, Free> owned;
  };

  void allocate(Side& side) {
    if (side.data) return;
    // One more byte, so that size 0 has an address too.
    side.owned.reset(static_cast<unsigned char*>(std::calloc(size_ + 1, 1)));
    side.data = side.owned.get();
  }

  void* read(Side& here, Side& there, Head at_here) {
    if (head_ != at_here && head_ != synced) {
      allocate(here);
      if (head_ == uninitialized) {
        head_ = at_here;
      } else {
        std::memcpy(here.data, there.data, size_);
        head_ = synced;
      }
    }
    return here.data;
  }

  void* write(Side& here, Side& there, Head at_here) {
    read(here, there, at_here);
    head_ = at_here;
    return here.data;
  }

  void borrow(Side& side, void* data, Head at_side) {
    side.owned.reset();
    side.data = static_cast<unsigned char*>(data);
    head_ = at_side;
  }

  std::size_t size_;
  Side host_, device_;
  Head head_ = uninitialized;
};

#endif  // SUPPORT_DEVICE_REFERENCE_HPP
