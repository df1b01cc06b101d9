// The library's interfaces (C++ ABI, C API, wrapper), each with the methods of the reference class.
#ifndef SUPPORT_SUBJECTS_HPP
#define SUPPORT_SUBJECTS_HPP

#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "syncedmem.h"
#include "syncedmem.hpp"

#ifdef GENERATION_BORROWS_ON_THE_DEVICE
constexpr bool generation_borrows_on_the_device = true;
#else
constexpr bool generation_borrows_on_the_device = false;
#endif
#if defined(GENERATION_PUSHES_ON_A_STREAM) || defined(GENERATION_PUSHES_ON_ITS_OWN_STREAM)
constexpr bool generation_pushes = true;
#else
constexpr bool generation_pushes = false;
#endif

/// The C++ ABI, with the class as one generation of Caffe declares it. Caffe keeps it in a shared_ptr.
template <typename Object, bool can_borrow>
class ThroughCxx {
 public:
  static constexpr bool borrows = can_borrow;
  static constexpr bool borrows_on_the_device = generation_borrows_on_the_device;
  static constexpr bool pushes = generation_pushes;

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
  const void* gpu_data() { return object_->gpu_data(); }
  void* mutable_gpu_data() { return object_->mutable_gpu_data(); }
  void set_gpu_data(void* data) { object_->set_gpu_data(data); }
  /// A generation whose class has a stream pushes on that one.
  void async_gpu_push(CUstream_st* stream) {
#ifdef GENERATION_PUSHES_ON_ITS_OWN_STREAM
    (void)stream;
    object_->async_gpu_push();
#else
    object_->async_gpu_push(stream);
#endif
  }
  int head() const { return object_->head(); }
  std::size_t size() const { return object_->size(); }

 private:
  std::shared_ptr<Object> object_;
};

/// The C API.
class ThroughC {
 public:
  static constexpr bool borrows = true;
  static constexpr bool borrows_on_the_device = true;
  static constexpr bool pushes = true;

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
  const void* gpu_data() {
    const void* data = nullptr;
    expect_success(syncedmem_gpu_data(mem_, &data));
    return data;
  }
  void* mutable_gpu_data() {
    void* data = nullptr;
    expect_success(syncedmem_mutable_gpu_data(mem_, &data));
    return data;
  }
  void set_gpu_data(void* data) { expect_success(syncedmem_set_gpu_data(mem_, data)); }
  void async_gpu_push(CUstream_st* stream) { expect_success(syncedmem_async_gpu_push(mem_, stream)); }
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

/// The header-only wrapper.
class ThroughWrapper {
 public:
  static constexpr bool borrows = true;
  static constexpr bool borrows_on_the_device = true;
  static constexpr bool pushes = true;

  explicit ThroughWrapper(std::size_t size) : object_(size) {}
  const void* cpu_data() { return object_.cpu_data(); }
  void* mutable_cpu_data() { return object_.mutable_cpu_data(); }
  void set_cpu_data(void* data) { object_.set_cpu_data(data); }
  const void* gpu_data() { return object_.gpu_data(); }
  void* mutable_gpu_data() { return object_.mutable_gpu_data(); }
  void set_gpu_data(void* data) { object_.set_gpu_data(data); }
  void async_gpu_push(CUstream_st* stream) { object_.async_gpu_push(stream); }
  int head() const { return object_.head(); }
  std::size_t size() const { return object_.size(); }

 private:
  syncedmem::SyncedMemory object_;
};

#endif  // SUPPORT_SUBJECTS_HPP
