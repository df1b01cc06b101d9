// Device blocks in the contexts of the CUDA driver: which context is current when a block is allocated, used or freed.
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/device_test.hpp"
#include "syncedmem.hpp"

namespace {

using syncedmem::SyncedMemory;

constexpr std::size_t size = 5000;

driver::Context current() {
  driver::Context context = nullptr;
  driver::api().cuCtxGetCurrent(&context);
  return context;
}

/// On a new thread, where no context is current.
template <typename Work>
void elsewhere(Work work) {
  std::thread(work).join();
}

/// A context of the test's own.
class OwnContext {
 public:
  explicit OwnContext(driver::Device device) {
    const driver::Current keep(current());
    driver::api().cuCtxCreate_v2(&context_, 0, device);
    driver::api().cuCtxSetCurrent(nullptr);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() { driver::api().cuCtxDestroy_v2(context_); }
  driver::Context get() const { return context_; }

 private:
  driver::Context context_ = nullptr;
};

std::vector<unsigned char> all(unsigned char value) { return std::vector<unsigned char>(size, value); }

std::vector<unsigned char> host(const void* data) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  return std::vector<unsigned char>(bytes, bytes + size);
}

class Contexts : public DeviceTest {};

TEST_F(Contexts, TheCurrentOneServesANewBlock) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  SyncedMemory here(size), there(size);
  here.mutable_gpu_data();
  EXPECT_EQ(here.device_ordinal(), 0);
  {
    const driver::Current on_the_second(second.get());
    there.mutable_gpu_data();
  }
  EXPECT_EQ(there.device_ordinal(), 1);
}

TEST_F(Contexts, WhereNoneIsCurrentDeviceZeroServes) {
  elsewhere([] {
    SyncedMemory memory(size);
    EXPECT_NE(memory.gpu_data(), nullptr);
    EXPECT_EQ(memory.device_ordinal(), 0);
    EXPECT_EQ(current(), nullptr) << "nothing was left current";
  });
}

TEST_F(Contexts, TheCallersStaysCurrentWhateverHappens) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  const OwnContext own(0);
  SyncedMemory memory(size);
  for (driver::Context context : {driver::Context(nullptr), second.get(), own.get()}) {
    const driver::Current here(context);
    memory.mutable_gpu_data();
    EXPECT_EQ(current(), context);
    memory.mutable_cpu_data();
    EXPECT_EQ(current(), context);
    memory.async_gpu_push(nullptr);
    memory.wait();
    EXPECT_EQ(current(), context);
    memory.mutable_gpu_data();
    memory.async_cpu_pull(nullptr);
    memory.wait();
    EXPECT_EQ(current(), context);
    memory.release_gpu();
    EXPECT_EQ(current(), context);
  }
}

TEST_F(Contexts, DataIsUsedAndFreedWithNoneCurrentOnAnotherThread) {
  std::unique_ptr<SyncedMemory> memory(new SyncedMemory(size));
  ASSERT_TRUE(driver::fill(memory->mutable_gpu_data(), 0x31, size));
  elsewhere([&] {
    EXPECT_EQ(host(memory->cpu_data()), all(0x31));
    std::memset(memory->mutable_cpu_data(), 0x32, size);
    EXPECT_EQ(driver::read(memory->gpu_data(), size), all(0x32));
    memory.reset();
  });
}

TEST_F(Contexts, DataIsUsedAndFreedWithAnotherDevicesCurrent) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  std::unique_ptr<SyncedMemory> memory(new SyncedMemory(size));
  void* data = memory->mutable_gpu_data();
  ASSERT_TRUE(driver::fill(data, 0x41, size));
  const driver::Current on_the_second(second.get());
  EXPECT_EQ(memory->gpu_data(), data) << "as in the original's release builds, the pointer is returned";
  EXPECT_EQ(host(memory->cpu_data()), all(0x41));
  std::memset(memory->mutable_cpu_data(), 0x42, size);
  EXPECT_EQ(memory->gpu_data(), data);
  EXPECT_EQ(driver::read(data, size), all(0x42));
  EXPECT_EQ(memory->device_ordinal(), 0);
  memory.reset();
}

TEST_F(Contexts, DataOfAContextThatSomebodyMadeIsFreedInIt) {
  const OwnContext own(0);
  std::unique_ptr<SyncedMemory> memory(new SyncedMemory(size));
  {
    const driver::Current in_it(own.get());
    ASSERT_TRUE(driver::fill(memory->mutable_gpu_data(), 0x51, size));
  }
  EXPECT_EQ(host(memory->cpu_data()), all(0x51));
  elsewhere([&] { memory.reset(); });
}

TEST_F(Contexts, BlocksSurviveAModeChange) {
  ASSERT_EQ(syncedmem_set_mode(SYNCEDMEM_MODE_GPU), SYNCEDMEM_SUCCESS);
  std::unique_ptr<SyncedMemory> pinned(new SyncedMemory(size));
  pinned->mutable_cpu_data();
  EXPECT_TRUE(pinned->is_pinned());
  ASSERT_EQ(syncedmem_set_mode(SYNCEDMEM_MODE_CPU), SYNCEDMEM_SUCCESS);
  std::unique_ptr<SyncedMemory> pageable(new SyncedMemory(size));
  pageable->mutable_cpu_data();
  EXPECT_FALSE(pageable->is_pinned());
  EXPECT_TRUE(pinned->is_pinned()) << "what is, is";
  pinned->gpu_data();
  pinned.reset();
  ASSERT_EQ(syncedmem_set_mode(SYNCEDMEM_MODE_GPU), SYNCEDMEM_SUCCESS);
  pageable->gpu_data();
  pageable.reset();
  EXPECT_EQ(syncedmem_set_mode(SYNCEDMEM_MODE_AUTO), SYNCEDMEM_SUCCESS);
}

TEST_F(Contexts, PinnedBlocksAreFreedWithoutOneAndWithAnotherDevicesCurrent) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  ASSERT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_ALWAYS), SYNCEDMEM_SUCCESS);
  for (driver::Context context : {driver::Context(nullptr), second.get()}) {
    std::unique_ptr<SyncedMemory> memory(new SyncedMemory(size));
    memory->mutable_cpu_data();
    EXPECT_TRUE(memory->is_pinned());
    const driver::Current here(context);
    memory.reset();
  }
  EXPECT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_AUTO), SYNCEDMEM_SUCCESS);
}

std::uint64_t mismatches() {
  std::uint64_t count = 0;
  EXPECT_EQ(syncedmem_device_mismatches(&count), SYNCEDMEM_SUCCESS);
  return count;
}

TEST_F(Contexts, ACopyToABlockOfAnotherDeviceIsServedAndCounted) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  SyncedMemory memory(size);
  memory.gpu_data();
  memory.mutable_cpu_data();
  const std::uint64_t before = mismatches();
  memory.gpu_data();
  EXPECT_EQ(mismatches(), before);
  memory.mutable_cpu_data();
  const driver::Current on_the_second(second.get());
  memory.gpu_data();
  EXPECT_EQ(mismatches(), before + 1);
}

TEST_F(Contexts, TheDeviceCheckRefusesABlockOfAnotherDeviceEvenWhereNothingIsToBeDone) {
  NEEDS_TWO_DEVICES();
  const driver::Primary second(1);
  SyncedMemory memory(size);
  memory.mutable_gpu_data();
  ASSERT_EQ(syncedmem_set_device_check(true), SYNCEDMEM_SUCCESS);
  bool on = false;
  EXPECT_EQ(syncedmem_get_device_check(&on), SYNCEDMEM_SUCCESS);
  EXPECT_TRUE(on);
  EXPECT_NE(memory.gpu_data(), nullptr);
  {
    const driver::Current on_the_second(second.get());
    const void* data = nullptr;
    const std::uint64_t before = mismatches();
    EXPECT_EQ(syncedmem_gpu_data(memory.get(), &data), SYNCEDMEM_ERROR_WRONG_DEVICE);
    EXPECT_EQ(data, nullptr);
    EXPECT_EQ(mismatches(), before + 1);
  }
  EXPECT_NE(memory.gpu_data(), nullptr);
  EXPECT_EQ(syncedmem_set_device_check(false), SYNCEDMEM_SUCCESS);
  const driver::Current on_the_second(second.get());
  EXPECT_NE(memory.gpu_data(), nullptr);
}

}  // namespace
