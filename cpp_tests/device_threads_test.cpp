// Many threads read both sides of one object: each side is allocated and filled or copied once, and all get the same
// pointers.
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include GENERATION
#include "support/device_test.hpp"
#include "support/threads.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

constexpr std::size_t size = 5000;

/// Even readers read the host side, odd ones the device side.
struct Got {
  const void* pointers[readers] = {};

  explicit Got(SyncedMemory& memory) {
    at_once([&](int i) { pointers[i] = i % 2 ? memory.gpu_data() : memory.cpu_data(); });
  }

  bool agree() const {
    for (int i = 0; i < readers; ++i) {
      if (!pointers[i] || pointers[i] != pointers[i % 2]) return false;
    }
    return true;
  }

  bool host_is(unsigned char value) const {
    const unsigned char* bytes = static_cast<const unsigned char*>(pointers[0]);
    return bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0;
  }

  bool device_is(unsigned char value) const {
    return driver::read(pointers[1], size) == std::vector<unsigned char>(size, value);
  }
};

class ReadersOfBothSides : public DeviceTest {};

TEST_F(ReadersOfBothSides, OfAColdObjectAllSeeZeros) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(size);
    driver::clear_log();
    const Got got(memory);
    ASSERT_TRUE(got.agree());
    ASSERT_TRUE(got.host_is(0) && got.device_is(0));
    ASSERT_EQ(memory.head(), SyncedMemory::SYNCED);
    ASSERT_COUNTED(driver::calls("cuMemAlloc_v2"), 1u) << driver::log();
    ASSERT_COUNTED(driver::copies(nullptr), 1u) << driver::log();
  }
}

TEST_F(ReadersOfBothSides, OfWhatTheHostWroteShareOneCopy) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(size);
    std::memset(memory.mutable_cpu_data(), 1 + round % 255, size);
    driver::clear_log();
    const Got got(memory);
    ASSERT_TRUE(got.agree());
    ASSERT_TRUE(got.host_is(1 + round % 255) && got.device_is(1 + round % 255));
    ASSERT_COUNTED(driver::copies("HtoD"), 1u) << driver::log();
    ASSERT_COUNTED(driver::copies(nullptr), 1u) << driver::log();
  }
}

TEST_F(ReadersOfBothSides, OfWhatTheDeviceWroteShareOneCopy) {
  for (int round = 0; round < rounds(); ++round) {
    SyncedMemory memory(size);
    ASSERT_TRUE(driver::fill(memory.mutable_gpu_data(), 1 + round % 255, size));
    driver::clear_log();
    const Got got(memory);
    ASSERT_TRUE(got.agree());
    ASSERT_TRUE(got.host_is(1 + round % 255) && got.device_is(1 + round % 255));
    ASSERT_COUNTED(driver::copies("DtoH"), 1u) << driver::log();
    ASSERT_COUNTED(driver::copies(nullptr), 1u) << driver::log();
  }
}

// As in Caffe's data layers: one thread fills and pushes, a second uses, a third frees.
TEST_F(ReadersOfBothSides, MayFreeWhatAnotherThreadPushed) {
  driver::set_lag(100);
  for (int round = 0; round < rounds() / 10 + 1; ++round) {
    std::unique_ptr<SyncedMemory> objects[readers];
    at_once([&](int i) {
      objects[i].reset(new SyncedMemory(size));
      std::memset(objects[i]->mutable_cpu_data(), i + 1, size);
      objects[i]->async_gpu_push(nullptr);
    });
    at_once([&](int i) { EXPECT_NE(objects[(i + 1) % readers]->gpu_data(), nullptr); });
    at_once([&](int i) { objects[(i + 2) % readers].reset(); });
  }
  driver::set_lag(0);
}

}  // namespace
