// Page-locked host memory of objects and of CaffeMallocHost: its source, its flags, and its way back, also after a
// change of the mode.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

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

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// In GPU mode, set by syncedmem_set_mode().
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

TEST_F(Pinned, AnObjectsBlockIsNeverWriteCombined) {
  SyncedMemory memory(5000);
  memory.mutable_cpu_data();
  unsigned flags = 0;
  int (*get_flags)(unsigned*, void*) = nullptr;
  driver::find(get_flags, "cuMemHostGetFlags");
  ASSERT_EQ(get_flags(&flags, memory.mutable_cpu_data()), 0);
  constexpr unsigned portable = 1, write_combined = 4;
  EXPECT_EQ(flags & write_combined, 0u);
  EXPECT_EQ(flags & portable, portable);
}

TEST_F(Pinned, AnObjectsBlockGoesBackAtOnceWhenItMakesRoomForABorrowedOne) {
  char mine[5000];
  SyncedMemory memory(sizeof mine);
  memory.mutable_cpu_data();
  mode(SYNCEDMEM_MODE_CPU);
  memory.set_cpu_data(mine);
  EXPECT_COUNTED(pinned_blocks(), before_);
  EXPECT_EQ(flag(memory, 29), 0);
}

TEST_F(Pinned, AnObjectWithoutBytesHasNothingToLock) {
  SyncedMemory memory(0);
  EXPECT_NE(memory.cpu_data(), nullptr);
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
  std::free(block);
}

TEST_F(Pinned, MemoryThatCannotBeIsPageableAndThatIsSaidOnce) {
  NEEDS_THE_SIMULATED_DRIVER();
  driver::simulator().fail("cuMemHostAlloc", 1, 1, 0);
  ::testing::internal::CaptureStderr();
  for (std::size_t size : sizes) {
    SyncedMemory memory(size);
    std::memset(memory.mutable_cpu_data(), 1, size);
    EXPECT_EQ(flag(memory, 29), 0);
    EXPECT_NE(memory.gpu_data(), nullptr);
  }
  driver::simulator().clear_faults();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "not page-locked") && contains(said, "cuMemHostAlloc")) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "one line: " << said;
}

}  // namespace
