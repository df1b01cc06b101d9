// Death tests on the simulated driver: each fatal error prints Caffe's words in glog's format and aborts, or throws if the
// policy says so.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include GENERATION
#include "support/driver.hpp"
#include "support/fatal_line.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

constexpr std::size_t size = 5000;
constexpr std::size_t more_than_there_is = std::size_t(1) << 40;

/// Each statement runs in a fresh process.
class DeviceFatalDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ASSERT_TRUE(driver::is_simulated()) << "run with the simulated driver's folder in LD_LIBRARY_PATH";
  }
};

void fail(const char* function, int status) { driver::simulator().fail(function, 1, status, 0); }

const std::string out_of_memory = "Check failed: error == cudaSuccess \\(2 vs\\. 0\\)  out of memory";

TEST_F(DeviceFatalDeathTest, ReadingMoreThanTheDeviceHasDiesWithCaffesWordsAndSaysWhatThereIs) {
  EXPECT_ABORT(SyncedMemory(more_than_there_is).gpu_data(),
               fatal_line("syncedmem.cpp", out_of_memory, "gpu_data") + "1099511627776 bytes.*device 0 has");
}

TEST_F(DeviceFatalDeathTest, ADriverCallThatFailsDiesWithItsStatusAndItsName) {
  EXPECT_ABORT(
      {
        SyncedMemory memory(size);
        memory.mutable_cpu_data();
        fail("cuMemcpy", 1);
        memory.gpu_data();
      },
      fatal_line("libsyncedmem", "Check failed: error == cudaSuccess \\(1 vs\\. 0\\)  invalid argument", "gpu_data") +
          "cuMemcpy returned CUDA_ERROR_INVALID_VALUE \\(1\\)");
}

TEST_F(DeviceFatalDeathTest, WhatAnEarlierKernelLeftBehindIsNotTakenForOurs) {
  EXPECT_ABORT(
      {
        SyncedMemory memory(size);
        memory.mutable_gpu_data();
        fail("cuMemcpy", 700);
        memory.cpu_data();
      },
      "error == cudaSuccess \\(700 vs\\. 0\\).*cpu_data: .*found pending");
}

TEST_F(DeviceFatalDeathTest, SettingTheDeviceSideToNullDiesWithCaffesWords) {
  EXPECT_ABORT(SyncedMemory(size).set_gpu_data(nullptr),
               fatal_line("syncedmem.cpp", "Check failed: data", "set_gpu_data"));
}

TEST_F(DeviceFatalDeathTest, PushingWhatIsNotOnTheHostDiesWithCaffesWords) {
  const std::string line = fatal_line("syncedmem.cpp", "Check failed: head_ == HEAD_AT_CPU", "async_gpu_push");
  SyncedMemory memory(size);
  EXPECT_ABORT(memory.async_gpu_push(cudaStream_t()), line + "UNINITIALIZED");
  memory.mutable_gpu_data();
  EXPECT_ABORT(memory.async_gpu_push(cudaStream_t()), line + "HEAD_AT_GPU");
}

TEST_F(DeviceFatalDeathTest, TheDeviceCheckDiesWithTheWordsOfTheOriginalsDebugBuilds) {
  EXPECT_ABORT(
      {
        setenv("SYNCEDMEM_CHECK_DEVICE", "1", 1);
        SyncedMemory memory(size);
        memory.gpu_data();
        const driver::Primary second(1);
        const driver::Current on_the_second(second.get());
        memory.gpu_data();
      },
      fatal_line("syncedmem.cpp", "Check failed: device == device_", "gpu_data"));
}

TEST_F(DeviceFatalDeathTest, InAForkedChildItDiesWithTheReason) {
  EXPECT_EXIT(
      {
        SyncedMemory memory(size);
        memory.gpu_data();
        const pid_t child = fork();
        if (child == 0) memory.gpu_data();
        int status = 0;
        waitpid(child, &status, 0);
        std::exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      },
      ::testing::ExitedWithCode(SIGABRT), "SyncedMemory::gpu_data: no GPU: this process was forked");
}

TEST_F(DeviceFatalDeathTest, AskedToThrowItThrows) {
  EXPECT_EXIT(
      {
        setenv("SYNCEDMEM_ON_ERROR", "throw", 1);
        int thrown = 0;
        try {
          SyncedMemory(more_than_there_is).gpu_data();
        } catch (const std::bad_alloc&) {
          ++thrown;
        }
        SyncedMemory memory(size);
        memory.mutable_cpu_data();
        fail("cuMemcpy", 400);
        try {
          memory.gpu_data();
        } catch (const std::runtime_error& error) {
          if (std::string(error.what()).find("cuMemcpy") != std::string::npos) ++thrown;
        }
        driver::simulator().clear_faults();
        if (memory.head() == SyncedMemory::HEAD_AT_CPU && memory.gpu_data()) ++thrown;
        std::exit(thrown);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
