// A handle is a caffe::SyncedMemory and vice versa: both ABIs on one object.
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include GENERATION
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

constexpr std::size_t small = 100;
constexpr std::size_t mapped = 3 << 20;

TEST(OneObject, MadeByCxxAnswersToC) {
  SyncedMemory memory(small);
  syncedmem_t* mem = reinterpret_cast<syncedmem_t*>(&memory);

  std::size_t size = 0;
  EXPECT_EQ(syncedmem_size(mem, &size), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(size, small);
  syncedmem_head_t head = SYNCEDMEM_SYNCED;
  EXPECT_EQ(syncedmem_head(mem, &head), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(head, SYNCEDMEM_UNINITIALIZED);

  std::memset(memory.mutable_cpu_data(), 3, small);
  const void* data = nullptr;
  EXPECT_EQ(syncedmem_cpu_data(mem, &data), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(data, memory.cpu_data());
  EXPECT_EQ(syncedmem_head(mem, &head), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(head, SYNCEDMEM_HEAD_AT_CPU);

  char mine[small] = {};
  EXPECT_EQ(syncedmem_set_cpu_data(mem, mine), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(memory.cpu_data(), mine);
}

TEST(OneObject, MadeByCAnswersToCxx) {
  for (std::size_t size : {small, mapped}) {
    syncedmem_t* mem = nullptr;
    ASSERT_EQ(syncedmem_create(size, &mem), SYNCEDMEM_SUCCESS);
    SyncedMemory* memory = reinterpret_cast<SyncedMemory*>(mem);
    EXPECT_EQ(memory->size(), size);
    EXPECT_EQ(memory->head(), SyncedMemory::UNINITIALIZED);
    void* data = nullptr;
    EXPECT_EQ(syncedmem_overwrite_cpu_data(mem, &data), SYNCEDMEM_SUCCESS);
    EXPECT_EQ(memory->head(), SyncedMemory::HEAD_AT_CPU);
    EXPECT_EQ(memory->mutable_cpu_data(), data);
    EXPECT_EQ(syncedmem_destroy(mem), SYNCEDMEM_SUCCESS);
  }
}

TEST(OneObject, ConstructedByCInStorageForAClassAnswersToCxx) {
  alignas(SyncedMemory) unsigned char storage[sizeof(SyncedMemory)];
  syncedmem_t* mem = nullptr;
  ASSERT_EQ(syncedmem_construct(storage, sizeof storage, mapped, &mem), SYNCEDMEM_SUCCESS);
  EXPECT_EQ(static_cast<void*>(mem), storage);
  SyncedMemory* memory = std::launder(reinterpret_cast<SyncedMemory*>(storage));
  EXPECT_NE(memory->mutable_cpu_data(), nullptr);
  EXPECT_EQ(syncedmem_destruct(mem), SYNCEDMEM_SUCCESS);
}

TEST(LastError, IsEachThreadsOwn) {
  EXPECT_EQ(syncedmem_set_mode(99), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
  const std::string mine = syncedmem_last_error();
  EXPECT_NE(mine, "");
  std::string before = "?", after;
  std::thread([&] {
    before = syncedmem_last_error();
    syncedmem_set_pinning(99);
    after = syncedmem_last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_NE(after, mine);
  EXPECT_EQ(syncedmem_last_error(), mine);
}

}  // namespace
