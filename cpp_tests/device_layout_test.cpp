// The layout of one generation of Caffe's class while the device is in use: pointers, flags, and no write after byte 31.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/device_test.hpp"
#include "support/guarded_storage.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

class DeviceLayout : public LayoutOf<DeviceTest> {
 protected:
  void expect_whole(SyncedMemory::SyncedHead head, const void* host, const void* device, bool owns_device) {
    LayoutOf::expect_whole(head, size, host, host != nullptr, device, owns_device);
  }

  static constexpr std::size_t size = 3000;
  static std::vector<unsigned char> all(unsigned char value) { return std::vector<unsigned char>(size, value); }
};

TEST_F(DeviceLayout, IsTrueAfterTheFirstReadOnTheDevice) {
  const void* device = construct(size).gpu_data();
  expect_whole(SyncedMemory::HEAD_AT_GPU, nullptr, device, true);
  EXPECT_EQ(driver::read(device, size), all(0));
  destroy();
}

TEST_F(DeviceLayout, IsTrueWithBothSides) {
  void* device = construct(size).mutable_gpu_data();
  ASSERT_TRUE(driver::fill(device, 0x6D, size));
  const void* host = object_->cpu_data();
  expect_whole(SyncedMemory::SYNCED, host, device, true);
  EXPECT_EQ(std::memcmp(host, all(0x6D).data(), size), 0);
  std::memset(object_->mutable_cpu_data(), 0x5C, size);
  expect_whole(SyncedMemory::HEAD_AT_CPU, host, device, true);
  EXPECT_EQ(driver::read(object_->gpu_data(), size), all(0x5C));
  expect_whole(SyncedMemory::SYNCED, host, device, true);
  object_->mutable_gpu_data();
  expect_whole(SyncedMemory::HEAD_AT_GPU, host, device, true);
  destroy();
}

#ifdef GENERATION_BORROWS_ON_THE_DEVICE
TEST_F(DeviceLayout, IsTrueAfterBorrowingOnTheDevice) {
  const driver::Block mine(size);
  construct(size).set_gpu_data(mine.data());
  expect_whole(SyncedMemory::HEAD_AT_GPU, nullptr, mine.data(), false);
  const void* host = object_->cpu_data();
  expect_whole(SyncedMemory::SYNCED, host, mine.data(), false);
  destroy();
}
#endif

#if defined(GENERATION_PUSHES_ON_A_STREAM) || defined(GENERATION_PUSHES_ON_ITS_OWN_STREAM)
TEST_F(DeviceLayout, IsTrueAfterAPushOnceItIsDone) {
  driver::NonBlockingStream stream;
  void* host = construct(size).mutable_cpu_data();
  std::memset(host, 0x7E, size);
#ifdef GENERATION_PUSHES_ON_A_STREAM
  object_->async_gpu_push(stream.get());
#else
  object_->async_gpu_push();
#endif
  expect_intact();
  EXPECT_EQ(object_->head(), SyncedMemory::SYNCED);
  EXPECT_EQ(syncedmem_wait(reinterpret_cast<syncedmem_t*>(object_)), SYNCEDMEM_SUCCESS);
  expect_whole(SyncedMemory::SYNCED, host, object_->gpu_data(), true);
  EXPECT_EQ(driver::read(object_->gpu_data(), size), all(0x7E));
  destroy();
}
#endif

}  // namespace
