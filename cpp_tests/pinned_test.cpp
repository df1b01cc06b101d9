// Page-locked host memory in the class's flag, and from CaffeMallocHost of both eras. tests/memory/device_pinned.rs tests the rest.
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include GENERATION
#include "support/caffe_host.hpp"
#include "support/device_test.hpp"
#include "syncedmem.hpp"

namespace {

using caffe::SyncedMemory;

constexpr std::size_t sizes[] = {1, 5000, 3 << 20};

std::size_t pinned_blocks() { return driver::account().pinned_blocks; }

unsigned char flag(const SyncedMemory& memory, std::size_t byte) {
  return reinterpret_cast<const unsigned char*>(&memory)[byte];
}

/// Runs in GPU mode, set by syncedmem_set_mode().
class Pinned : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    mode(SYNCEDMEM_MODE_GPU);
    before_ = pinned_blocks();
  }

  void TearDown() override {
    mode(SYNCEDMEM_MODE_AUTO);
    DeviceTest::TearDown();
  }

  static void mode(syncedmem_mode_t mode) { ASSERT_EQ(syncedmem_set_mode(mode), SYNCEDMEM_SUCCESS); }

  std::size_t before_ = 0;
};

TEST_F(Pinned, AnObjectsBlockIsRecordedInItsFlag) {
  for (std::size_t size : sizes) {
    SyncedMemory memory(size);
    const unsigned char* data = static_cast<const unsigned char*>(memory.cpu_data());
    EXPECT_COUNTED(pinned_blocks(), before_ + 1);
    EXPECT_EQ(flag(memory, 29), 1) << "cpu_malloc_use_cuda_";
    EXPECT_TRUE(data[0] == 0 && data[size - 1] == 0) << "zeros all the same";
    EXPECT_NE(memory.gpu_data(), nullptr);
  }
  EXPECT_COUNTED(pinned_blocks(), before_);
}

TEST_F(Pinned, CaffeMallocHostSaysSoAndCaffeFreeHostGivesItBackInAnyMode) {
  for (std::size_t size : sizes) {
    void* block = nullptr;
    bool use_cuda = false;
    caffe::CaffeMallocHost(&block, size, &use_cuda);
    EXPECT_TRUE(use_cuda);
    EXPECT_COUNTED(pinned_blocks(), before_ + 1);
    std::memset(block, 1, size);
    mode(SYNCEDMEM_MODE_CPU);
    caffe::CaffeFreeHost(block, use_cuda);
    EXPECT_COUNTED(pinned_blocks(), before_);
    mode(SYNCEDMEM_MODE_GPU);
  }
}

TEST_F(Pinned, CaffeFreeHostStillTakesWhatMallocGave) {
  caffe::CaffeFreeHost(std::malloc(5000), false);
  caffe::CaffeFreeHost(nullptr, true);
  EXPECT_COUNTED(pinned_blocks(), before_);
}

TEST_F(Pinned, CaffeMallocHostOfTheFirstEraNeverIs) {
  void* block = nullptr;
  caffe::CaffeMallocHost(&block, 5000);
  EXPECT_COUNTED(pinned_blocks(), before_);
  caffe::CaffeFreeHost(block);
}

}  // namespace
