// Copies in flight while the object is used: for certain on the simulated driver, which holds its streams. On a real
// one only results that do not depend on that are checked.
#include <atomic>
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

std::vector<unsigned char> all(unsigned char value) { return std::vector<unsigned char>(size, value); }

std::vector<unsigned char> host(const void* data) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  return std::vector<unsigned char>(bytes, bytes + size);
}

/// Page-locked: only its copies are asynchronous.
class InFlight : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_ALWAYS), SYNCEDMEM_SUCCESS);
  }

  void TearDown() override {
    EXPECT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_AUTO), SYNCEDMEM_SUCCESS);
    DeviceTest::TearDown();
  }

  /// `wait`, on another thread, must not return before the streams are released.
  template <typename Wait>
  void expect_to_wait(Wait wait) {
    std::atomic<bool> begun(false), released(false);
    bool waited = false;
    std::thread thread([&] {
      begun = true;
      wait();
      waited = released;
    });
    while (!begun) std::this_thread::yield();
    // Long enough for a call that does not wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    released = true;
    driver::release_streams();
    thread.join();
    EXPECT_TRUE(waited);
  }

  driver::NonBlockingStream stream_;
};

class Pushed : public InFlight {
 protected:
  void SetUp() override {
    NEEDS_THE_SIMULATED_DRIVER();
    InFlight::SetUp();
    memory_.reset(new SyncedMemory(size));
    ASSERT_TRUE(driver::fill(memory_->mutable_gpu_data(), 0x60, size));
    std::memset(memory_->mutable_cpu_data(), 0x61, size);
    driver::hold_streams();
    memory_->async_gpu_push(stream_.get());
    driver::clear_log();
  }

  void TearDown() override {
    driver::release_streams();
    memory_.reset();
    InFlight::TearDown();
  }

  std::unique_ptr<SyncedMemory> memory_;
};

TEST_F(Pushed, IsSyncedAndReadableAtOnceOnBothSides) {
  EXPECT_EQ(memory_->head(), SYNCEDMEM_SYNCED);
  EXPECT_FALSE(memory_->is_ready());
  EXPECT_EQ(host(memory_->cpu_data()), all(0x61));
  EXPECT_EQ(driver::read(memory_->gpu_data(), size), all(0x60)) << "the stream has not come to it";
  EXPECT_FALSE(memory_->is_ready()) << "no call has waited";
}

TEST_F(Pushed, IsReadyWhenTheStreamIsDone) {
  driver::release_streams();
  EXPECT_EQ(stream_.synchronize(), 0);
  EXPECT_TRUE(memory_->is_ready());
  EXPECT_EQ(driver::read(memory_->gpu_data(), size), all(0x61));
  EXPECT_COUNTED(driver::copies(nullptr), 0u) << driver::log();
}

TEST_F(Pushed, IsWaitedForByWait) {
  expect_to_wait([this] { memory_->wait(); });
  EXPECT_TRUE(memory_->is_ready());
  EXPECT_EQ(driver::read(memory_->gpu_data(), size), all(0x61));
}

TEST_F(Pushed, IsWaitedForBeforeTheHostIsWritten) {
  expect_to_wait([this] { std::memset(memory_->mutable_cpu_data(), 0xEE, size); });
  EXPECT_EQ(driver::read(memory_->gpu_data(), size), all(0xEE));
}

TEST_F(Pushed, IsWaitedForBeforeTheBlocksAreFreed) {
  expect_to_wait([this] { memory_.reset(); });
}

TEST_F(Pushed, IsWaitedForBeforeTheDeviceBlockIsReleased) {
  expect_to_wait([this] { memory_->release_gpu(); });
  EXPECT_EQ(memory_->device_ordinal(), -1);
}

TEST_F(Pushed, OutlivesTheStreamThatItWasPushedOn) {
  driver::release_streams();
  EXPECT_EQ(stream_.synchronize(), 0);
  stream_.destroy();
  memory_->mutable_cpu_data();
  memory_.reset();
}

TEST_F(Pushed, FromPageableMemoryIsSafeToo) {
  EXPECT_EQ(syncedmem_set_pinning(SYNCEDMEM_PIN_NEVER), SYNCEDMEM_SUCCESS);
  driver::release_streams();
  SyncedMemory memory(size);
  std::memset(memory.mutable_cpu_data(), 0x71, size);
  driver::hold_streams();
  memory.async_gpu_push(stream_.get());
  EXPECT_FALSE(memory.is_pinned());
  expect_to_wait([&] { std::memset(memory.mutable_cpu_data(), 0xEE, size); });
  EXPECT_EQ(driver::read(memory.gpu_data(), size), all(0xEE));
}

class Pulled : public InFlight {
 protected:
  void SetUp() override {
    NEEDS_THE_SIMULATED_DRIVER();
    InFlight::SetUp();
    memory_.reset(new SyncedMemory(size));
    ASSERT_TRUE(driver::fill(memory_->mutable_gpu_data(), 0x62, size));
    driver::hold_streams();
    driver::clear_log();
    memory_->async_cpu_pull(stream_.get());
  }

  void TearDown() override {
    driver::release_streams();
    memory_.reset();
    InFlight::TearDown();
  }

  std::unique_ptr<SyncedMemory> memory_;
};

TEST_F(Pulled, StaysAtTheDeviceUntilItIsKnownToBeDone) {
  EXPECT_EQ(memory_->head(), SYNCEDMEM_HEAD_AT_GPU);
  EXPECT_FALSE(memory_->is_ready());
  EXPECT_NE(memory_->gpu_data(), nullptr);
  EXPECT_FALSE(memory_->is_ready()) << "no call has waited";
  driver::release_streams();
  EXPECT_EQ(stream_.synchronize(), 0);
  EXPECT_TRUE(memory_->is_ready());
  EXPECT_EQ(memory_->head(), SYNCEDMEM_SYNCED);
  EXPECT_EQ(host(memory_->cpu_data()), all(0x62));
  EXPECT_COUNTED(driver::copies("DtoH"), 1u) << driver::log();
}

TEST_F(Pulled, IsCompletedByReadingTheHostAndNeverCopiedTwice) {
  memory_->async_cpu_pull(stream_.get());
  expect_to_wait([this] { EXPECT_EQ(host(memory_->cpu_data()), all(0x62)); });
  EXPECT_EQ(memory_->head(), SYNCEDMEM_SYNCED);
  EXPECT_COUNTED(driver::copies("DtoH"), 1u) << driver::log();
}

TEST_F(Pulled, IsWaitedForByWait) {
  expect_to_wait([this] { memory_->wait(); });
  EXPECT_EQ(memory_->head(), SYNCEDMEM_SYNCED);
  EXPECT_EQ(host(memory_->cpu_data()), all(0x62));
}

TEST_F(Pulled, IsWaitedForBeforeTheDeviceIsWritten) {
  void* data = nullptr;
  expect_to_wait([&] { data = memory_->mutable_gpu_data(); });
  ASSERT_TRUE(driver::fill(data, 0x63, size));
  EXPECT_EQ(host(memory_->cpu_data()), all(0x63));
}

TEST_F(Pulled, IsWaitedForBeforeTheBlocksAreFreed) {
  expect_to_wait([this] { memory_.reset(); });
}

TEST_F(Pulled, OutlivesTheStreamThatItWasPulledOn) {
  driver::release_streams();
  EXPECT_EQ(stream_.synchronize(), 0);
  stream_.destroy();
  EXPECT_EQ(host(memory_->cpu_data()), all(0x62));
}

TEST_F(InFlight, APullOfWhatTheHostHasDoesNothing) {
  SyncedMemory memory(size);
  memory.mutable_cpu_data();
  driver::clear_log();
  memory.async_cpu_pull(stream_.get());
  EXPECT_EQ(memory.head(), SYNCEDMEM_HEAD_AT_CPU);
  EXPECT_COUNTED(driver::calls(nullptr), 0u) << driver::log();
}

TEST_F(InFlight, APullOrAPushOfNothingIsAnError) {
  SyncedMemory memory(size);
  EXPECT_EQ(syncedmem_async_cpu_pull(memory.get(), nullptr), SYNCEDMEM_ERROR_INVALID_STATE);
  EXPECT_EQ(syncedmem_async_gpu_push(memory.get(), nullptr), SYNCEDMEM_ERROR_INVALID_STATE);
  EXPECT_EQ(memory.head(), SYNCEDMEM_UNINITIALIZED);
}

TEST_F(InFlight, ACopyOutlivesItsStreamThatIsDestroyedBehindIt) {
  driver::set_lag(2000);
  for (bool is_pull : {false, true}) {
    driver::NonBlockingStream stream;
    std::unique_ptr<SyncedMemory> memory(new SyncedMemory(size));
    if (is_pull) {
      ASSERT_TRUE(driver::fill(memory->mutable_gpu_data(), 0x64, size));
      memory->async_cpu_pull(stream.get());
    } else {
      std::memset(memory->mutable_cpu_data(), 0x64, size);
      memory->async_gpu_push(stream.get());
    }
    stream.destroy();
    if (is_pull) {
      EXPECT_EQ(host(memory->cpu_data()), all(0x64));
    }
    memory.reset();
  }
  driver::set_lag(0);
}

// As in Caffe's data layers: one thread fills and pushes, another uses and frees.
TEST_F(InFlight, OneThreadPushesAndAnotherFrees) {
  driver::set_lag(200);
  for (int round = 0; round < 50; ++round) {
    auto* memory = new caffe::SyncedMemory(size);
    std::thread([&] {
      std::memset(memory->mutable_cpu_data(), round, size);
      memory->async_gpu_push(stream_.get());
    }).join();
    if (round % 2) {
      ASSERT_EQ(stream_.synchronize(), 0);
      EXPECT_EQ(driver::read(memory->gpu_data(), size), all(static_cast<unsigned char>(round)));
    }
    delete memory;
  }
  driver::set_lag(0);
}

}  // namespace
