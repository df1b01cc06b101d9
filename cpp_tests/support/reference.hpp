// A reference of SyncedMemory on the host: the table of docs/caffe-abi.md as plain code.
#ifndef SUPPORT_REFERENCE_HPP
#define SUPPORT_REFERENCE_HPP

#include <cstddef>
#include <cstdlib>
#include <memory>

class Reference {
 public:
  static constexpr bool borrows = true;

  explicit Reference(std::size_t size) : size_(size) {}

  const void* cpu_data() {
    touch();
    return data_;
  }

  void* mutable_cpu_data() {
    touch();
    return data_;
  }

  void set_cpu_data(void* data) {
    owned_.reset();
    data_ = static_cast<unsigned char*>(data);
    at_cpu_ = true;
  }

  /// 0: untouched, 1: on the host; there is no device here.
  int head() const { return at_cpu_ ? 1 : 0; }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(unsigned char* block) const { std::free(block); }
  };

  void touch() {
    if (at_cpu_) return;
    // One more byte, so that size 0 has an address too.
    owned_.reset(static_cast<unsigned char*>(std::calloc(size_ + 1, 1)));
    data_ = owned_.get();
    at_cpu_ = true;
  }

  std::size_t size_;
  std::unique_ptr<unsigned char, Free> owned_;
  unsigned char* data_ = nullptr;
  bool at_cpu_ = false;
};

#endif  // SUPPORT_REFERENCE_HPP
