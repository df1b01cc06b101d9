// The library through each of its doors, in the shape of the reference class.
#ifndef SUPPORT_SUBJECTS_HPP
#define SUPPORT_SUBJECTS_HPP

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "syncedmem.h"
#include "syncedmem.hpp"

/// Through the C++ ABI, with the class as one generation of Caffe declares it. Caffe keeps it in a shared_ptr.
template <typename Object, bool can_borrow>
class ThroughCxx {
 public:
  static constexpr bool borrows = can_borrow;

  explicit ThroughCxx(std::size_t size) : object_(new Object(size)) {}

  const void* cpu_data() { return object_->cpu_data(); }
  void* mutable_cpu_data() { return object_->mutable_cpu_data(); }
  void set_cpu_data(void* data) {
    if constexpr (can_borrow) {
      object_->set_cpu_data(data);
    } else {
      FAIL() << "this generation has no set_cpu_data: " << data;
    }
  }
  int head() const { return object_->head(); }
  std::size_t size() const { return object_->size(); }

 private:
  std::shared_ptr<Object> object_;
};

/// Through the C API.
class ThroughC {
 public:
  static constexpr bool borrows = true;

  explicit ThroughC(std::size_t size) { expect_success(syncedmem_create(size, &mem_)); }
  ThroughC(const ThroughC&) = delete;
  ThroughC& operator=(const ThroughC&) = delete;
  ~ThroughC() { expect_success(syncedmem_destroy(mem_)); }

  const void* cpu_data() {
    const void* data = nullptr;
    expect_success(syncedmem_cpu_data(mem_, &data));
    return data;
  }
  void* mutable_cpu_data() {
    void* data = nullptr;
    expect_success(syncedmem_mutable_cpu_data(mem_, &data));
    return data;
  }
  void set_cpu_data(void* data) { expect_success(syncedmem_set_cpu_data(mem_, data)); }
  int head() const {
    syncedmem_head_t head = SYNCEDMEM_SYNCED;
    expect_success(syncedmem_head(mem_, &head));
    return head;
  }
  std::size_t size() const {
    std::size_t size = 0;
    expect_success(syncedmem_size(mem_, &size));
    return size;
  }

 private:
  static void expect_success(syncedmem_status_t status) {
    EXPECT_EQ(status, SYNCEDMEM_SUCCESS) << syncedmem_last_error();
  }

  syncedmem_t* mem_ = nullptr;
};

/// Through the header-only wrapper.
class ThroughWrapper {
 public:
  static constexpr bool borrows = true;

  explicit ThroughWrapper(std::size_t size) : object_(size) {}
  const void* cpu_data() { return object_.cpu_data(); }
  void* mutable_cpu_data() { return object_.mutable_cpu_data(); }
  void set_cpu_data(void* data) { object_.set_cpu_data(data); }
  int head() const { return object_.head(); }
  std::size_t size() const { return object_.size(); }

 private:
  syncedmem::SyncedMemory object_;
};

#endif  // SUPPORT_SUBJECTS_HPP
