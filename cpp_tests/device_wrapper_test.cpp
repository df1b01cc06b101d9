// The class of include/syncedmem.hpp with a GPU.
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_test.hpp"
#include "support/dlpack.h"
#include "syncedmem.hpp"

namespace {

using syncedmem::SyncedMemory;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class WrapperOnTheDevice : public DeviceTest {};

TEST_F(WrapperOnTheDevice, SaysThatThereIsAGpuAndWhichOne) {
  EXPECT_TRUE(syncedmem::has_cuda());
  const char* sentence = syncedmem::cuda_status();
  EXPECT_TRUE(contains(sentence, driver::is_simulated() ? "12.8" : ".")) << sentence;
  EXPECT_EQ(syncedmem::cuda_status(), sentence) << "it lives for ever";
}

TEST_F(WrapperOnTheDevice, GivesTypedPointersToTheDevice) {
  SyncedMemory memory(4 * sizeof(float));
  memory.mutable_cpu_data<float>()[3] = 1.5f;
  const float* read = memory.gpu_data<float>();
  float value = 0;
  std::vector<unsigned char> bytes = driver::read(read + 3, sizeof value);
  ASSERT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  EXPECT_EQ(value, 1.5f);
  float* write = memory.mutable_gpu_data<float>();
  value = 2.5f;
  ASSERT_TRUE(driver::write(write + 3, &value, sizeof value));
  EXPECT_EQ(memory.cpu_data<float>()[3], 2.5f);
  EXPECT_NE(memory.overwrite_gpu_data<char>(), nullptr);
  EXPECT_EQ(memory.head(), SYNCEDMEM_HEAD_AT_GPU);
}

TEST_F(WrapperOnTheDevice, SaysWhereTheBlocksAreAndWhoseAndGivesThemBack) {
  SyncedMemory memory(4096);
  EXPECT_EQ(memory.device_ordinal(), -1);
  EXPECT_FALSE(memory.owns_cpu() || memory.owns_gpu() || memory.is_pinned());
  memory.gpu_data();
  EXPECT_EQ(memory.device_ordinal(), 0);
  EXPECT_TRUE(memory.owns_gpu() && !memory.owns_cpu());
  memory.cpu_data();
  EXPECT_TRUE(memory.owns_cpu());
  memory.release_cpu();
  EXPECT_TRUE(memory.owns_gpu() && !memory.owns_cpu());
  const driver::Block mine(4096);
  memory.set_gpu_data(mine.data());
  EXPECT_EQ(memory.gpu_data(), mine.data());
  EXPECT_FALSE(memory.owns_gpu());
  char borrowed[4096] = {};
  memory.set_cpu_data(borrowed);
  memory.release_gpu();
  EXPECT_EQ(memory.device_ordinal(), -1);
  EXPECT_FALSE(memory.owns_cpu());
  EXPECT_FALSE(memory.is_pinned());
}

TEST_F(WrapperOnTheDevice, PushesPullsAndWaits) {
  SyncedMemory memory(4096);
  std::memset(memory.mutable_cpu_data(), 8, 4096);
  memory.async_gpu_push(nullptr);
  EXPECT_EQ(memory.head(), SYNCEDMEM_SYNCED);
  memory.wait();
  EXPECT_EQ(driver::read(memory.gpu_data(), 4096), std::vector<unsigned char>(4096, 8));
  ASSERT_TRUE(driver::fill(memory.mutable_gpu_data(), 9, 4096));
  memory.async_cpu_pull(nullptr);
  memory.wait();
  EXPECT_TRUE(memory.is_ready());
  EXPECT_EQ(memory.cpu_data<char>()[4095], 9);
}

TEST_F(WrapperOnTheDevice, ThrowsABadAllocThatSaysWhatTheDeviceHas) {
  SyncedMemory memory(std::size_t(1) << 40);
  try {
    memory.gpu_data();
    FAIL() << "no device has that";
  } catch (const std::bad_alloc& exception) {
    EXPECT_TRUE(contains(exception.what(), "1099511627776 bytes")) << exception.what();
    EXPECT_TRUE(contains(exception.what(), "device")) << exception.what();
  }
  EXPECT_EQ(memory.head(), SYNCEDMEM_UNINITIALIZED);
}

TEST_F(WrapperOnTheDevice, ThrowsAnErrorThatNamesTheCallAndTheStatus) {
  NEEDS_THE_SIMULATED_DRIVER();
  SyncedMemory memory(4096);
  memory.mutable_cpu_data();
  driver::simulator().fail("cuMemcpy", 1, 400, 0);
  try {
    memory.gpu_data();
    FAIL() << "the copy failed";
  } catch (const syncedmem::error& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_DRIVER);
    EXPECT_TRUE(contains(error.what(), "cuMemcpy") && contains(error.what(), "400")) << error.what();
  }
}

TEST_F(WrapperOnTheDevice, MakesTensorsOfTheDeviceForOtherStreams) {
  SyncedMemory memory(6 * sizeof(float));
  auto* tensor = static_cast<DLManagedTensorVersioned*>(
      memory.to_dlpack<float>(SYNCEDMEM_DEVICE, SYNCEDMEM_WRITE, {2, 3}));
  EXPECT_EQ(tensor->tensor.device_type, kDLCUDA);
  EXPECT_EQ(tensor->tensor.device_id, memory.device_ordinal());
  EXPECT_EQ(tensor->tensor.data, memory.gpu_data());
  EXPECT_EQ(memory.exports(SYNCEDMEM_DEVICE), 1u);
  EXPECT_NO_THROW(memory.stream_wait(nullptr));
  EXPECT_NO_THROW(memory.record_stream(nullptr));
  tensor->deleter(tensor);
  EXPECT_EQ(memory.exports(SYNCEDMEM_DEVICE), 0u);
}

}  // namespace
