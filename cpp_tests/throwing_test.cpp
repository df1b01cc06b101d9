// Failures with SYNCEDMEM_ON_ERROR=throw, which CTest sets, and failures that a callback handles.
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include GENERATION
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

constexpr std::size_t absurd = ~std::size_t(0);

/// Counts destructors that run while an exception passes.
struct Counted {
  explicit Counted(int* destroyed) : destroyed_(destroyed) {}
  ~Counted() { ++*destroyed_; }
  int* destroyed_;
};

/// Calls a function that fails, and discards the line on standard error before the exception.
template <typename Exception, typename Function>
std::string text_of(Function fails) {
  ::testing::internal::CaptureStderr();
  std::string what = "nothing was thrown";
  try {
    fails();
  } catch (const Exception& exception) {
    what = exception.what();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("syncedmem."), std::string::npos) << "the report is to come before the exception: " << said;
  return what;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Throwing, IsAskedForByTheEnvironment) {
  syncedmem_error_policy_t policy = SYNCEDMEM_ON_ERROR_ABORT;
  ASSERT_EQ(syncedmem_get_error_policy(&policy), SYNCEDMEM_SUCCESS);
  ASSERT_EQ(policy, SYNCEDMEM_ON_ERROR_THROW) << "start this program with SYNCEDMEM_ON_ERROR=throw";
}

TEST(Throwing, OutOfMemoryIsABadAllocAndTheReportIsTheLastError) {
  SyncedMemory memory(absurd);
  EXPECT_EQ(text_of<std::bad_alloc>([&] { memory.mutable_cpu_data(); }), "std::bad_alloc");
  EXPECT_TRUE(contains(syncedmem_last_error(), "Check failed: *ptr host allocation of size 18446744073709551615"))
      << syncedmem_last_error();
  EXPECT_EQ(memory.head(), SyncedMemory::UNINITIALIZED);
}

TEST(Throwing, TheDeviceIsARuntimeErrorWithCaffesWordsAndTheReason) {
  SyncedMemory memory(8);
  const std::string what = text_of<std::runtime_error>([&] { memory.gpu_data(); });
  EXPECT_EQ(what.find("Cannot use GPU in CPU-only Caffe: check mode."), 0u) << what;
  EXPECT_TRUE(contains(what, "no GPU: ")) << what;
  EXPECT_EQ(what, syncedmem_last_error());
}

TEST(Throwing, EveryDeviceOperationThrows) {
  SyncedMemory memory(8);
  memory.mutable_cpu_data();
  char data[8];
  EXPECT_TRUE(contains(text_of<std::runtime_error>([&] { memory.gpu_data(); }), "gpu_data"));
  EXPECT_TRUE(contains(text_of<std::runtime_error>([&] { memory.mutable_gpu_data(); }), "mutable_gpu_data"));
  EXPECT_TRUE(contains(text_of<std::runtime_error>([&] { memory.set_gpu_data(data); }), "set_gpu_data"));
  EXPECT_TRUE(
      contains(text_of<std::runtime_error>([&] { memory.async_gpu_push(cudaStream_t()); }), "async_gpu_push"));
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
}

TEST(Throwing, NullForTheHostSideIsARuntimeErrorAndTheObjectStaysAsItWas) {
  SyncedMemory memory(8);
  void* before = memory.mutable_cpu_data();
  const std::string what = text_of<std::runtime_error>([&] { memory.set_cpu_data(nullptr); });
  EXPECT_EQ(what.find("Check failed: data"), 0u) << what;
  EXPECT_EQ(memory.mutable_cpu_data(), before);
}

TEST(Throwing, UnwindsTheCallersFramesAndLeavesNothingBehind) {
  int destroyed = 0;
  for (int round = 1; round <= 1000; ++round) {
    ::testing::internal::CaptureStderr();
    EXPECT_THROW(
        {
          Counted counted(&destroyed);
          SyncedMemory(absurd).cpu_data();
        },
        std::bad_alloc);
    ::testing::internal::GetCapturedStderr();
    ASSERT_EQ(destroyed, round);
  }
}

TEST(Throwing, IsARunTimeChoiceToo) {
  EXPECT_EQ(syncedmem_set_error_policy(2), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
  EXPECT_EXIT(
      {
        syncedmem_set_error_policy(SYNCEDMEM_ON_ERROR_ABORT);
        SyncedMemory(8).gpu_data();
      },
      ::testing::KilledBySignal(SIGABRT), "Cannot use GPU");
}

class Callback : public ::testing::Test {
 protected:
  void TearDown() override { ASSERT_EQ(syncedmem_set_error_callback(nullptr, nullptr), SYNCEDMEM_SUCCESS); }
};

struct Mine : std::exception {
  const char* what() const noexcept override { return "mine"; }
};

TEST_F(Callback, ThatThrowsIsCaughtByTheCaller) {
  syncedmem_set_error_callback([](syncedmem_status_t, const char*, void*) { throw Mine(); }, nullptr);
  SyncedMemory memory(8);
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(text_of<Mine>([&] { memory.gpu_data(); }), "mine");
  }
  EXPECT_NE(memory.mutable_cpu_data(), nullptr);
}

TEST_F(Callback, ThatReturnsIsFollowedByTheException) {
  static int calls = 0;
  syncedmem_set_error_callback([](syncedmem_status_t, const char*, void*) { ++calls; }, nullptr);
  SyncedMemory memory(absurd);
  text_of<std::bad_alloc>([&] { memory.cpu_data(); });
  EXPECT_EQ(calls, 1);
}

TEST_F(Callback, GetsTheStatusTheMessageAndWhatItWasGiven) {
  struct Got {
    syncedmem_status_t status;
    std::string message;
  } got = {SYNCEDMEM_SUCCESS, ""};
  syncedmem_set_error_callback(
      [](syncedmem_status_t status, const char* message, void* user) {
        *static_cast<Got*>(user) = {status, message};
      },
      &got);
  SyncedMemory memory(8);
  text_of<std::runtime_error>([&] { memory.set_cpu_data(nullptr); });
  EXPECT_EQ(got.status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(got.message, syncedmem_last_error());
  EXPECT_TRUE(contains(got.message, "Check failed: data")) << got.message;
}

TEST_F(Callback, MayUseTheObjectThatFailed) {
  SyncedMemory memory(8);
  syncedmem_set_error_callback(
      [](syncedmem_status_t, const char*, void* user) {
        static_cast<unsigned char*>(static_cast<SyncedMemory*>(user)->mutable_cpu_data())[0] = 77;
      },
      &memory);
  text_of<std::runtime_error>([&] { memory.gpu_data(); });
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(static_cast<const unsigned char*>(memory.cpu_data())[0], 77);
}

TEST_F(Callback, ThatFailsItselfIsNotCalledForThatAndThrowsItsOwn) {
  static int calls = 0;
  SyncedMemory memory(absurd);
  syncedmem_set_error_callback(
      [](syncedmem_status_t, const char*, void* user) {
        ++calls;
        static_cast<SyncedMemory*>(user)->mutable_cpu_data();
      },
      &memory);
  SyncedMemory other(8);
  EXPECT_EQ(text_of<std::bad_alloc>([&] { other.gpu_data(); }), "std::bad_alloc");
  EXPECT_EQ(calls, 1);
  // The callback is called again for the next failure.
  text_of<std::bad_alloc>([&] { other.gpu_data(); });
  EXPECT_EQ(calls, 2);
}

TEST_F(Callback, IsNotCalledByCFunctionsWhichReturnAStatusAllTheSame) {
  static int calls = 0;
  syncedmem_set_error_callback([](syncedmem_status_t, const char*, void*) { ++calls; }, nullptr);
  SyncedMemory memory(8);
  const void* data = &memory;
  EXPECT_EQ(syncedmem_gpu_data(reinterpret_cast<syncedmem_t*>(&memory), &data), SYNCEDMEM_ERROR_NO_GPU);
  EXPECT_EQ(data, &memory);
  EXPECT_EQ(calls, 0);
}

}  // namespace
