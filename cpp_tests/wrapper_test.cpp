// include/syncedmem.hpp: what it adds to the C API it stands on.
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

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
  const SyncedMemory memory(8);
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

TEST(Wrapper, ThrowsAnErrorWithTheStatusWhereTheHeadForbidsIt) {
  SyncedMemory memory(8);
  memory.mutable_cpu_data();
  try {
    memory.release_cpu();
    FAIL() << "the host holds the only copy";
  } catch (const syncedmem::error& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_INVALID_STATE);
    EXPECT_TRUE(contains(error.what(), "HEAD_AT_CPU")) << error.what();
  }
}

TEST(Wrapper, ThrowsAnInvalidArgumentForNullAndStaysAsItWas) {
  SyncedMemory memory(8);
  const void* before = memory.mutable_cpu_data();
  try {
    memory.set_cpu_data(nullptr);
    FAIL() << "NULL is no memory";
  } catch (const std::invalid_argument& exception) {
    EXPECT_TRUE(contains(exception.what(), "data is NULL")) << exception.what();
  }
  EXPECT_EQ(memory.cpu_data(), before);
}

TEST(Wrapper, CountsTheAccessesOfWhatMayBeEvicted) {
  SyncedMemory memory(8);
  EXPECT_EQ(memory.evictable(), SYNCEDMEM_EVICT_NEVER);
  memory.end_access();
  memory.set_evictable(SYNCEDMEM_EVICT_ALWAYS);
  EXPECT_EQ(memory.evictable(), SYNCEDMEM_EVICT_ALWAYS);
  memory.mutable_cpu_data<float>()[0] = 1;
  EXPECT_EQ(memory.cpu_data<float>()[0], 1);
  memory.end_access();
  memory.end_access();
  try {
    memory.end_access();
    FAIL() << "no access is open";
  } catch (const syncedmem::error& error) {
    EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_INVALID_STATE);
    EXPECT_TRUE(contains(error.what(), "no access to the object is open")) << error.what();
  }
  EXPECT_THROW(memory.set_evictable(static_cast<syncedmem_eviction_t>(3)), std::invalid_argument);
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

TEST(Wrapper, NamesObjectsAndReportsWhoHoldsMemory) {
  ASSERT_EQ(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON), SYNCEDMEM_SUCCESS);
  const syncedmem_stats_t before = syncedmem::stats();
  {
    SyncedMemory memory(1 << 20);
    EXPECT_EQ(memory.name(), "");
    memory.set_name("conv1.weights");
    EXPECT_EQ(memory.name(), "conv1.weights");
    memory.mutable_cpu_data();
    const syncedmem_stats_t stats = syncedmem::stats();
    EXPECT_EQ(stats.size, sizeof stats);
    EXPECT_EQ(stats.objects_made - before.objects_made, 1u);
    EXPECT_EQ(stats.host_fills.bytes - before.host_fills.bytes, 1u << 20);
    EXPECT_TRUE(contains(syncedmem::report(), "conv1.weights"));
    EXPECT_THROW(memory.set_name(""), std::invalid_argument);
    EXPECT_THROW(memory.set_name(std::string(SYNCEDMEM_NAME_BYTES + 1, 'x')), std::invalid_argument);
  }
  EXPECT_EQ(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_OFF), SYNCEDMEM_SUCCESS);
}

}  // namespace
