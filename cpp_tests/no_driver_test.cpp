// Without a driver, or a device, every device call fails, and the object stays as it was.
#include <cstring>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include GENERATION
#include "syncedmem.hpp"

namespace {

using syncedmem::SyncedMemory;

constexpr std::size_t size = 5000;

struct Operation {
  const char* name;
  syncedmem_status_t (*run)(syncedmem_t* memory);
};

void* somewhere() { return reinterpret_cast<void*>(0x700000000); }

const Operation operations[] = {
    {"gpu_data",
     [](syncedmem_t* memory) {
       const void* data = nullptr;
       return syncedmem_gpu_data(memory, &data);
     }},
    {"mutable_gpu_data",
     [](syncedmem_t* memory) {
       void* data = nullptr;
       return syncedmem_mutable_gpu_data(memory, &data);
     }},
    {"overwrite_gpu_data",
     [](syncedmem_t* memory) {
       void* data = nullptr;
       return syncedmem_overwrite_gpu_data(memory, &data);
     }},
    {"set_gpu_data", [](syncedmem_t* memory) { return syncedmem_set_gpu_data(memory, somewhere()); }},
    {"async_gpu_push", [](syncedmem_t* memory) { return syncedmem_async_gpu_push(memory, nullptr); }},
};

TEST(WithoutADriver, TheStatusSaysWhy) {
  const char* sentence = nullptr;
  EXPECT_EQ(syncedmem_cuda_status(&sentence), SYNCEDMEM_ERROR_NO_GPU);
  ASSERT_NE(sentence, nullptr);
  EXPECT_NE(std::string(sentence), "");
  EXPECT_FALSE(syncedmem::has_cuda());
  EXPECT_EQ(syncedmem::cuda_status(), sentence) << "it lives for ever";
}

TEST(WithoutADriver, EveryDeviceCallIsRefusedForThatReasonAndTheObjectStaysAsItWas) {
  for (const Operation& operation : operations) {
    SyncedMemory memory(size);
    void* data = memory.mutable_cpu_data();
    std::memset(data, 0x5A, size);
    EXPECT_EQ(operation.run(memory.get()), SYNCEDMEM_ERROR_NO_GPU) << operation.name;
    EXPECT_NE(std::string(syncedmem_last_error()).find(syncedmem::cuda_status()), std::string::npos)
        << operation.name << ": " << syncedmem_last_error();
    EXPECT_EQ(memory.head(), SYNCEDMEM_HEAD_AT_CPU) << operation.name;
    EXPECT_EQ(memory.mutable_cpu_data(), data) << operation.name;
    const unsigned char* bytes = memory.cpu_data<unsigned char>();
    EXPECT_TRUE(bytes[0] == 0x5A && std::memcmp(bytes, bytes + 1, size - 1) == 0) << operation.name;
  }
}

TEST(WithoutADriver, AnUntouchedObjectStaysUntouched) {
  for (const Operation& operation : operations) {
    SyncedMemory memory(size);
    const syncedmem_status_t status = operation.run(memory.get());
    // A push from another state than HEAD_AT_CPU is an error with and without a device.
    const bool is_push = operation.name == std::string("async_gpu_push");
    EXPECT_EQ(status, is_push ? SYNCEDMEM_ERROR_INVALID_STATE : SYNCEDMEM_ERROR_NO_GPU) << operation.name;
    EXPECT_EQ(memory.head(), SYNCEDMEM_UNINITIALIZED) << operation.name;
    EXPECT_NE(memory.cpu_data(), nullptr) << operation.name;
  }
}

TEST(WithoutADriver, ThereIsNothingToWaitForAndNothingOnADevice) {
  SyncedMemory memory(size);
  memory.mutable_cpu_data();
  EXPECT_NO_THROW(memory.async_cpu_pull(nullptr)) << "the host is current";
  EXPECT_NO_THROW(memory.wait());
  EXPECT_TRUE(memory.is_ready());
  EXPECT_EQ(memory.device_ordinal(), -1);
  EXPECT_FALSE(memory.owns_gpu());
  EXPECT_TRUE(memory.owns_cpu());
}

TEST(WithoutADriver, AnObjectWithoutBytesNeedsNone) {
  SyncedMemory memory(0);
  EXPECT_NE(memory.cpu_data(), nullptr);
}

TEST(WithoutADriver, PinnedMemoryIsPageableAndThatIsNoError) {
  ASSERT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_ALWAYS), SYNCEDMEM_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    SyncedMemory memory(size);
    std::memset(memory.mutable_cpu_data(), 1, size);
    EXPECT_FALSE(memory.is_pinned());
  }
  EXPECT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_AUTO), SYNCEDMEM_SUCCESS);
}

TEST(WithoutADriver, TheCxxAbiThrowsTheReasonWhereItIsAskedToThrow) {
  ASSERT_EQ(syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_THROW), SYNCEDMEM_SUCCESS);
  caffe::SyncedMemory memory(size);
  const void* data = memory.mutable_cpu_data();
  ::testing::internal::CaptureStderr();
  try {
    memory.gpu_data();
    ADD_FAILURE() << "there is no GPU";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(syncedmem::cuda_status()), std::string::npos) << error.what();
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(memory.head(), caffe::SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(memory.cpu_data(), data);
  EXPECT_EQ(syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_ABORT), SYNCEDMEM_SUCCESS);
}

}  // namespace
