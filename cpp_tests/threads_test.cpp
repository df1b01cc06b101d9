// Many threads read one object at once: one of them allocates and fills, and all get the same pointer to zeros.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/threads.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

class Readers : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Readers, OfAColdObjectAllGetOnePointerToZeros) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(GetParam());
    const void* got[readers] = {};
    bool zeros[readers] = {};
    at_once([&](int i) {
      got[i] = memory.cpu_data();
      const unsigned char* bytes = static_cast<const unsigned char*>(got[i]);
      zeros[i] = bytes[0] == 0 && bytes[GetParam() / 2] == 0 && bytes[GetParam() - 1] == 0;
    });
    for (int i = 0; i < readers; ++i) {
      ASSERT_NE(got[i], nullptr);
      ASSERT_EQ(got[i], got[0]);
      ASSERT_TRUE(zeros[i]);
    }
    ASSERT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  }
}

TEST_P(Readers, ThroughBothAbisAllGetOnePointer) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(GetParam());
    const void* got[readers] = {};
    at_once([&](int i) {
      if (i % 2) {
        syncedmem_cpu_data(reinterpret_cast<syncedmem_t*>(&memory), &got[i]);
      } else {
        got[i] = memory.cpu_data();
      }
    });
    ASSERT_NE(got[0], nullptr);
    ASSERT_EQ(std::count(got, got + readers, got[0]), readers);
  }
}

TEST_P(Readers, OfAWarmObjectSeeWhatWasWritten) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(GetParam());
    std::memset(memory.mutable_cpu_data(), 1 + round % 255, GetParam());
    std::atomic<int> right(0);
    at_once([&](int) {
      const unsigned char* bytes = static_cast<const unsigned char*>(memory.cpu_data());
      right += bytes[GetParam() - 1] == 1 + round % 255;
    });
    ASSERT_EQ(right.load(), readers);
  }
}

// As in Caffe's data layers: made on one thread, filled on a second, freed on a third.
TEST_P(Readers, MayFreeWhatAnotherThreadAllocated) {
  for (int round = 0; round < rounds(); ++round) {
    std::unique_ptr<SyncedMemory> objects[readers];
    at_once([&](int i) { objects[i].reset(new SyncedMemory(GetParam())); });
    at_once([&](int i) { static_cast<char*>(objects[(i + 1) % readers]->mutable_cpu_data())[0] = 1; });
    at_once([&](int i) { objects[(i + 2) % readers].reset(); });
  }
}

INSTANTIATE_TEST_SUITE_P(OfBytes, Readers, ::testing::Values(64, 4096, 3 << 20),
                         [](const ::testing::TestParamInfo<std::size_t>& size) { return std::to_string(size.param); });

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
