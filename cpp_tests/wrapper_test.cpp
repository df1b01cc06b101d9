// The class of include/syncedmem.hpp.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/dlpack.h"
#include "syncedmem.hpp"

namespace {

using syncedmem::SyncedMemory;

static_assert(!std::is_copy_constructible<SyncedMemory>::value && !std::is_copy_assignable<SyncedMemory>::value, "");
static_assert(std::is_nothrow_move_constructible<SyncedMemory>::value, "containers move it");
static_assert(std::is_nothrow_move_assignable<SyncedMemory>::value, "containers move it");
static_assert(!std::is_convertible<int, SyncedMemory>::value, "a size is no memory");
static_assert(sizeof(SyncedMemory) == sizeof(void*), "it is its handle");
static_assert(std::is_base_of<std::bad_alloc, syncedmem::out_of_memory>::value, "");
static_assert(std::is_base_of<std::runtime_error, syncedmem::error>::value, "");
static_assert(std::is_nothrow_copy_constructible<syncedmem::out_of_memory>::value, "it is thrown when memory is out");

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Wrapper, GivesTypedPointersToZeros) {
  SyncedMemory memory(10 * sizeof(float));
  EXPECT_EQ(memory.count<float>(), 10u);
  const float* read = memory.cpu_data<float>();
  EXPECT_EQ(read[9], 0.0f);
  memory.mutable_cpu_data<float>()[9] = 2.5f;
  EXPECT_EQ(read[9], 2.5f);
  memory.overwrite_cpu_data<float>()[0] = 1.0f;
  EXPECT_EQ(read[0], 1.0f);
  EXPECT_EQ(memory.head(), SYNCEDMEM_HEAD_AT_CPU);
}

TEST(Wrapper, ReadsThroughAReferenceToConst) {
  const SyncedMemory memory;
  EXPECT_EQ(memory.size(), 0u);
  EXPECT_NE(memory.cpu_data(), nullptr);
}

TEST(Wrapper, MovesWithoutMovingTheData) {
  SyncedMemory first(8);
  const void* data = first.mutable_cpu_data();
  SyncedMemory second(std::move(first));
  EXPECT_EQ(second.cpu_data(), data);
  SyncedMemory third(16);
  third.mutable_cpu_data();
  third = std::move(second);
  EXPECT_EQ(third.cpu_data(), data);
  EXPECT_EQ(third.size(), 8u);
  third = SyncedMemory(32);
  EXPECT_EQ(third.size(), 32u);
}

TEST(Wrapper, ThatWasMovedFromSaysSoAndMayBeUsedAgain) {
  SyncedMemory from(8);
  SyncedMemory to(std::move(from));
  EXPECT_TRUE(bool(to));
  EXPECT_FALSE(bool(from));
  EXPECT_EQ(from.get(), nullptr);
  EXPECT_THROW(from.size(), std::invalid_argument);
  EXPECT_THROW(from.mutable_cpu_data(), std::invalid_argument);
  swap(from, to);
  EXPECT_EQ(from.size(), 8u);
  EXPECT_FALSE(bool(to));
}

TEST(Wrapper, AssignedToItselfStaysWhole) {
  SyncedMemory memory(8);
  SyncedMemory& same = memory;
  memory = std::move(same);
  EXPECT_EQ(memory.size(), 8u);
}

TEST(Wrapper, GivesUpAndTakesOverHandles) {
  SyncedMemory memory(8);
  syncedmem_t* handle = memory.release();
  EXPECT_FALSE(bool(memory));
  SyncedMemory again = SyncedMemory::adopt(handle);
  EXPECT_EQ(again.get(), handle);
  EXPECT_EQ(again.size(), 8u);
  EXPECT_FALSE(bool(SyncedMemory::adopt(nullptr)));
}

TEST(Wrapper, ThrowsABadAllocThatSaysWhatWasAsked) {
  try {
    SyncedMemory memory(~std::size_t(0));
    FAIL() << "no address space holds that";
  } catch (const std::bad_alloc& exception) {
    EXPECT_TRUE(contains(exception.what(), "18446744073709551615 bytes")) << exception.what();
  }
  SyncedMemory memory(std::size_t(1) << 55);
  EXPECT_THROW(memory.cpu_data(), syncedmem::out_of_memory);
  EXPECT_THROW(memory.mutable_cpu_data(), syncedmem::out_of_memory);
  EXPECT_THROW(memory.overwrite_cpu_data(), syncedmem::out_of_memory);
  EXPECT_EQ(memory.head(), SYNCEDMEM_UNINITIALIZED);
}

TEST(Wrapper, ThrowsAnErrorWithTheStatusWhereThereIsNoGpu) {
  if (syncedmem::has_cuda()) GTEST_SKIP() << "there is one";
  SyncedMemory memory(8);
  try {
    memory.gpu_data<float>();
    FAIL() << "there is no GPU";
  } catch (const syncedmem::error& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_NO_GPU);
    EXPECT_TRUE(contains(error.what(), "no GPU: ")) << error.what();
  }
  int data = 0;
  EXPECT_THROW(memory.mutable_gpu_data(), syncedmem::error);
  EXPECT_THROW(memory.overwrite_gpu_data(), syncedmem::error);
  EXPECT_THROW(memory.set_gpu_data(&data), syncedmem::error);
  EXPECT_THROW(memory.async_gpu_push(nullptr), syncedmem::error);
  EXPECT_THROW(memory.release_gpu(), syncedmem::error);
}

TEST(Wrapper, ThrowsAnInvalidArgumentForNullAndAnErrorWhereTheHeadForbidsIt) {
  SyncedMemory memory(8);
  try {
    memory.set_cpu_data(nullptr);
    FAIL() << "NULL is no memory";
  } catch (const std::invalid_argument& exception) {
    EXPECT_TRUE(contains(exception.what(), "data is NULL")) << exception.what();
  }
  memory.mutable_cpu_data();
  EXPECT_THROW(memory.release_cpu(), syncedmem::error);
}

TEST(Wrapper, BorrowsAndNeverFrees) {
  float mine[4] = {1, 2, 3, 4};
  {
    SyncedMemory memory(sizeof mine);
    memory.set_cpu_data(mine);
    EXPECT_EQ(memory.mutable_cpu_data<float>(), mine);
    memory.mutable_cpu_data<float>()[0] = 5;
  }
  EXPECT_EQ(mine[0], 5);
}

TEST(Wrapper, NamesObjectsAndReportsWhatWasDone) {
  ASSERT_EQ(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON), SYNCEDMEM_SUCCESS);
  const syncedmem_stats_t before = syncedmem::stats();
  {
    SyncedMemory memory(1 << 20);
    memory.set_name("conv1.weights");
    memory.set_items(64);
    memory.mutable_cpu_data();
    const syncedmem_stats_t stats = syncedmem::stats();
    EXPECT_EQ(stats.size, sizeof stats);
    EXPECT_EQ(stats.objects_made - before.objects_made, 1u);
    EXPECT_EQ(stats.host_fills.bytes - before.host_fills.bytes, 1u << 20);
    EXPECT_TRUE(contains(syncedmem::report(), "fill of the host with zeros"));
    EXPECT_THROW(memory.set_name(""), std::invalid_argument);
    EXPECT_THROW(memory.set_name(std::string(SYNCEDMEM_NAME_BYTES + 1, 'x')), std::invalid_argument);
  }
  EXPECT_EQ(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_OFF), SYNCEDMEM_SUCCESS);
}

DLManagedTensorVersioned* versioned(void* tensor) { return static_cast<DLManagedTensorVersioned*>(tensor); }

TEST(Wrapper, MakesTensorsThatOutliveIt) {
  DLManagedTensorVersioned* tensor;
  {
    SyncedMemory memory(6 * sizeof(float));
    tensor = versioned(memory.to_dlpack<float>(SYNCEDMEM_HOST, SYNCEDMEM_WRITE, {2, 3}));
    memory.mutable_cpu_data<float>()[5] = 7;
    EXPECT_EQ(memory.exports(SYNCEDMEM_HOST), 1u);
    EXPECT_EQ(memory.exports(SYNCEDMEM_DEVICE), 0u);
    try {
      memory.release_cpu();
      FAIL() << "a tensor of it is in use";
    } catch (const syncedmem::error& error) {
      EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_EXPORTED);
    }
    EXPECT_EQ(tensor->tensor.data, memory.cpu_data());
  }
  EXPECT_EQ(static_cast<float*>(tensor->tensor.data)[5], 7);
  EXPECT_EQ(tensor->tensor.ndim, 2);
  EXPECT_EQ(tensor->tensor.shape[1], 3);
  tensor->deleter(tensor);
}

template <typename T>
void says(int code, int bits) {
  SyncedMemory memory(sizeof(T));
  DLManagedTensorVersioned* tensor = versioned(memory.to_dlpack<T>(SYNCEDMEM_HOST, SYNCEDMEM_READ, {}));
  EXPECT_EQ(tensor->tensor.type_code, code);
  EXPECT_EQ(tensor->tensor.type_bits, bits);
  EXPECT_EQ(tensor->flags, std::uint64_t(kReadOnly));
  tensor->deleter(tensor);
}

TEST(Wrapper, SaysInDlpacksWordsWhatAnElementIs) {
  says<float>(kDLFloat, 32);
  says<double>(kDLFloat, 64);
  says<std::int8_t>(kDLInt, 8);
  says<long long>(kDLInt, 64);
  says<unsigned char>(kDLUInt, 8);
  says<std::uint32_t>(kDLUInt, 32);
  says<bool>(kDLBool, 8);
  SyncedMemory memory(8);
  DLManagedTensorVersioned* bfloat16 = versioned(memory.to_dlpack(SYNCEDMEM_HOST, SYNCEDMEM_WRITE, 4, 16, {4}));
  EXPECT_EQ(bfloat16->tensor.type_code, 4);
  bfloat16->deleter(bfloat16);
}

TEST(Wrapper, MakesATensorWithoutAVersionForWritingOnly) {
  SyncedMemory memory(8);
  EXPECT_THROW(memory.to_dlpack<float>(SYNCEDMEM_HOST, SYNCEDMEM_READ, {2}, false), std::invalid_argument);
  auto* legacy = static_cast<DLManagedTensor*>(memory.to_dlpack<float>(SYNCEDMEM_HOST, SYNCEDMEM_OVERWRITE, {2}, false));
  EXPECT_EQ(legacy->tensor.shape[0], 2);
  legacy->deleter(legacy);
  EXPECT_THROW(memory.to_dlpack<float>(SYNCEDMEM_HOST, SYNCEDMEM_READ, {3}), std::invalid_argument);
  EXPECT_EQ(memory.exports(SYNCEDMEM_HOST), 0u);
}

TEST(Wrapper, BorrowsATensorUntilItLetsItGo) {
  float data[4] = {1, 2, 3, 4};
  std::int64_t elements = 4;
  int deleted = 0;
  DLManagedTensorVersioned borrowed = floats_of(data, &elements, &deleted);
  SyncedMemory other(8);
  EXPECT_THROW(other.set_dlpack(&borrowed), std::invalid_argument) << "of another size";
  {
    SyncedMemory memory(sizeof data);
    memory.set_dlpack(&borrowed);
    EXPECT_EQ(memory.cpu_data(), data);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

template <typename T>
void sets_and_tells(void (*set)(T), T (*get)(), T value) {
  const T before = get();
  set(value);
  EXPECT_EQ(get(), value);
  set(before);
  EXPECT_EQ(get(), before);
}

TEST(Wrapper, SetsAndTellsTheChoicesOfTheProcess) {
  const std::size_t budget = syncedmem::pool_budget(SYNCEDMEM_MEMORY_PAGEABLE);
  syncedmem::set_pool_budget(12345);
  EXPECT_EQ(syncedmem::pool_budget(SYNCEDMEM_MEMORY_PAGEABLE), 12345u);
  EXPECT_THROW(syncedmem::pool_budget(SYNCEDMEM_MEMORY_ALL), std::invalid_argument);
  syncedmem::set_pool_budget(SIZE_MAX);
  EXPECT_EQ(syncedmem::pool_budget(SYNCEDMEM_MEMORY_PAGEABLE), budget);
  sets_and_tells(syncedmem::set_pool_age, syncedmem::pool_age, 2.5);
  EXPECT_THROW(syncedmem::set_pool_age(-1), std::invalid_argument);
  sets_and_tells(syncedmem::set_pinned_limit, syncedmem::pinned_limit, std::size_t(1) << 20);
  sets_and_tells(syncedmem::set_mode, syncedmem::mode, SYNCEDMEM_MODE_CPU);
  sets_and_tells(syncedmem::set_pinning, syncedmem::pinning, SYNCEDMEM_PIN_NEVER);
  sets_and_tells(syncedmem::set_error_policy, syncedmem::error_policy, SYNCEDMEM_ON_ERROR_THROW);
  sets_and_tells(syncedmem::set_accounting, syncedmem::accounting, SYNCEDMEM_ACCOUNTING_ON);
  sets_and_tells(syncedmem::set_device_check, syncedmem::device_check, true);
  EXPECT_EQ(syncedmem::device_mismatches(), 0u);
}

TEST(Wrapper, TrimsWhatLiesIdle) {
  syncedmem::set_pool_budget(8 << 20);
  { SyncedMemory(4 << 20).mutable_cpu_data(); }
  EXPECT_EQ(syncedmem::idle_bytes(SYNCEDMEM_MEMORY_PAGEABLE), syncedmem::stats().pageable.idle);
  syncedmem::trim();
  EXPECT_EQ(syncedmem::idle_bytes(), 0u);
  EXPECT_THROW(syncedmem::trim(static_cast<syncedmem_memory_t>(4)), std::invalid_argument);
}

TEST(Wrapper, WritesATrace) {
  const std::string folder = ::testing::TempDir();
  syncedmem::trace_start(folder + "wrapper_trace.%p");
  const std::string file = folder + "wrapper_trace." + std::to_string(getpid());
  { SyncedMemory(4096).mutable_cpu_data(); }
  syncedmem::trace_stop();
  std::string line;
  EXPECT_TRUE(std::getline(std::ifstream(file), line)) << file;
  EXPECT_TRUE(contains(line, "syncmem")) << line;
  std::remove(file.c_str());
  EXPECT_THROW(syncedmem::trace_start("/no/such/folder/trace"), syncedmem::error);
}

TEST(Wrapper, KnowsTheLibrarysVersionAndItsStatuses) {
  const std::string version = std::to_string(SYNCEDMEM_VERSION_MAJOR) + "." + std::to_string(SYNCEDMEM_VERSION_MINOR) +
                              "." + std::to_string(SYNCEDMEM_VERSION_PATCH);
  EXPECT_EQ(syncedmem::version(), version);
  EXPECT_STREQ(syncedmem::status_name(SYNCEDMEM_ERROR_EXPORTED), "SYNCEDMEM_ERROR_EXPORTED");
  syncedmem::reset_peaks();
  EXPECT_EQ(syncedmem::stats().pageable.peak, syncedmem::stats().pageable.live);
}

}  // namespace
