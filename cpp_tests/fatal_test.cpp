// Death tests: each fatal error of the C++ ABI prints Caffe's words in glog's format, and aborts.
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include GENERATION
#include "support/caffe_host.hpp"
#include "support/fatal_line.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

const char no_gpu[] = "Cannot use GPU in CPU-only Caffe: check mode\\.";

std::string allocation_failed(std::size_t size) {
  return "Check failed: \\*ptr host allocation of size " + std::to_string(size) + " failed";
}

/// Each statement runs in a fresh process.
class FatalDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr std::size_t absurd = ~std::size_t(0);
constexpr std::size_t large = std::size_t(1) << 30;

TEST_F(FatalDeathTest, ReadingWithASizeThatNoAddressSpaceHoldsDiesWithCaffesWords) {
  EXPECT_ABORT(SyncedMemory(absurd).cpu_data(), fatal_line("syncedmem.hpp", allocation_failed(absurd), "cpu_data"));
}

TEST_F(FatalDeathTest, WritingWithANegativeSizeDiesWithCaffesWords) {
  const std::size_t negative = static_cast<std::size_t>(-1655996416L);
  EXPECT_ABORT(SyncedMemory(negative).mutable_cpu_data(),
               fatal_line("syncedmem.hpp", allocation_failed(negative), "mutable_cpu_data"));
}

#ifndef __SANITIZE_ADDRESS__  // its shadow needs more address space than that
TEST_F(FatalDeathTest, RunningOutOfAddressSpaceDiesAndTellsTheLimit) {
  EXPECT_ABORT(
      {
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = large;
        setrlimit(RLIMIT_AS, &limit);
        SyncedMemory(large).mutable_cpu_data();
      },
      fatal_line("syncedmem.hpp", allocation_failed(large), "mutable_cpu_data") +
          "1\\.0 GiB.*ulimit -v.*1073741824");
}
#endif

TEST_F(FatalDeathTest, ExceedingTheHostLimitDiesAndTellsTheLimitAndWhatIsHeld) {
  EXPECT_ABORT(
      {
        setenv("SYNCEDMEM_HOST_LIMIT", "1M", 1);
        SyncedMemory first(1000 * 1000);
        first.cpu_data();
        SyncedMemory(100 * 1000).cpu_data();
      },
      fatal_line("syncedmem.hpp", allocation_failed(100000), "cpu_data") +
          "SYNCEDMEM_HOST_LIMIT is 1048576 bytes.*holds 1000000 bytes");
}

TEST_F(FatalDeathTest, SettingTheHostSideToNullDiesWithCaffesWords) {
  EXPECT_ABORT(SyncedMemory(8).set_cpu_data(nullptr),
               fatal_line("syncedmem.cpp", "Check failed: data", "set_cpu_data"));
}

TEST_F(FatalDeathTest, EveryUseOfTheDeviceDiesWithCaffesWordsAndTheReason) {
  SyncedMemory memory(8);
  char data[8];
  for (const bool on_the_host : {false, true}) {
    if (on_the_host) memory.mutable_cpu_data();
    EXPECT_ABORT(memory.gpu_data(), fatal_line("syncedmem.cpp", no_gpu, "gpu_data") + "no GPU: ");
    EXPECT_ABORT(memory.mutable_gpu_data(), fatal_line("syncedmem.cpp", no_gpu, "mutable_gpu_data"));
    EXPECT_ABORT(memory.set_gpu_data(data), fatal_line("syncedmem.cpp", no_gpu, "set_gpu_data"));
  }
#ifdef GENERATION_PUSHES_ON_A_STREAM
  EXPECT_ABORT(memory.async_gpu_push(cudaStream_t()), fatal_line("syncedmem.cpp", no_gpu, "async_gpu_push"));
#else
  EXPECT_ABORT(memory.async_gpu_push(), fatal_line("syncedmem.cpp", no_gpu, "async_gpu_push"));
#endif
}

TEST_F(FatalDeathTest, CaffeMallocHostOfBothErasDiesWithCaffesWords) {
  void* block = nullptr;
  bool pinned = false;
  EXPECT_ABORT(caffe::CaffeMallocHost(&block, absurd, &pinned),
               fatal_line("syncedmem.hpp", allocation_failed(absurd), "malloc_host"));
  EXPECT_ABORT(caffe::CaffeMallocHost(&block, absurd),
               fatal_line("syncedmem.hpp", allocation_failed(absurd), "malloc_host"));
}

TEST_F(FatalDeathTest, UsingAnObjectAfterItsEndDies) {
  alignas(SyncedMemory) unsigned char storage[sizeof(SyncedMemory)];
  EXPECT_ABORT(
      {
        SyncedMemory* memory = new (storage) SyncedMemory(8);
        memory->~SyncedMemory();
        memory->cpu_data();
      },
      "SyncedMemory::cpu_data: .*destroyed");
}

TEST_F(FatalDeathTest, DestroyingTwiceIsReportedAndDoesNotDie) {
  alignas(SyncedMemory) unsigned char storage[sizeof(SyncedMemory)];
  EXPECT_EXIT(
      {
        SyncedMemory* memory = new (storage) SyncedMemory(8);
        memory->~SyncedMemory();
        memory->~SyncedMemory();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "libsyncedmem: SyncedMemory::destroy: .*nothing was freed");
}

void say_and_return(syncedmem_status_t status, const char* message, void* user) {
  std::fprintf(stderr, "callback got %s, %s, %s\n", syncedmem_status_name(status), message,
               static_cast<const char*>(user));
}

TEST_F(FatalDeathTest, ACallbackThatReturnsIsFollowedByTheAbort) {
  static char mine[] = "what I gave";
  EXPECT_ABORT(
      {
        syncedmem_set_error_callback(say_and_return, mine);
        SyncedMemory(8).gpu_data();
      },
      "callback got SYNCEDMEM_ERROR_NO_GPU, Cannot use GPU in CPU-only Caffe.*, what I gave");
}

TEST_F(FatalDeathTest, AFailureInsideTheCallbackIsNotReportedToItAgain) {
  EXPECT_ABORT(
      {
        syncedmem_set_error_callback(
            [](syncedmem_status_t, const char*, void* memory) {
              static int calls = 0;
              std::fprintf(stderr, "call %d\n", ++calls);
              static_cast<SyncedMemory*>(memory)->mutable_gpu_data();
            },
            new SyncedMemory(8));
        SyncedMemory(8).gpu_data();
      },
      "SyncedMemory::gpu_data: [^\n]*\ncall 1\n[^\n]*SyncedMemory::mutable_gpu_data: [^\n]*\n$");
}

}  // namespace
