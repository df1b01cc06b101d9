// The device half of the suite about SyncedMemory, by the C++ ABI, the C API and the wrapper. GENERATION and EVERY_DOOR
// are as in synced_memory_test.cpp.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/device_reference.hpp"
#include "support/device_test.hpp"
#include "support/subjects.hpp"

namespace {

using ThroughThisGeneration = ThroughCxx<caffe::SyncedMemory, Generation::borrows>;
#ifdef EVERY_DOOR
using Subjects = ::testing::Types<ThroughThisGeneration, ThroughC, ThroughWrapper>;
#else
using Subjects = ::testing::Types<ThroughThisGeneration>;
#endif

class SubjectNames {
 public:
  template <typename Subject>
  static std::string GetName(int index) {
    static const char* const names[] = {"CxxAbi", "CApi", "Wrapper"};
    return names[index];
  }
};

template <typename Subject>
class SyncedMemoryOnTheDevice : public DeviceTest {};
TYPED_TEST_SUITE(SyncedMemoryOnTheDevice, Subjects, SubjectNames);

constexpr int uninitialized = 0;
constexpr int head_at_cpu = 1;
constexpr int head_at_gpu = 2;
constexpr int synced = 3;

constexpr std::size_t sizes[] = {1, 63, 4096, 100003, 2 << 20, (2 << 20) + 5};

std::vector<unsigned char> all(unsigned char value, std::size_t size) {
  return std::vector<unsigned char>(size, value);
}

std::vector<unsigned char> host(const void* data, std::size_t size) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  return std::vector<unsigned char>(bytes, bytes + size);
}

struct Work {
  std::size_t to_device, to_host, allocations, fills;
};

bool operator==(const Work& a, const Work& b) {
  return a.to_device == b.to_device && a.to_host == b.to_host && a.allocations == b.allocations && a.fills == b.fills;
}

std::ostream& operator<<(std::ostream& out, const Work& work) {
  return out << work.to_device << " copies to the device, " << work.to_host << " to the host, " << work.allocations
             << " allocations, " << work.fills << " fills";
}

Work done() {
  using driver::calls;
  return {driver::copies("HtoD"), driver::copies("DtoH"), calls("cuMemAlloc_v2"),
          calls("cuMemsetD8_v2") + calls("cuMemsetD32_v2") + calls("cuMemsetD8Async") + calls("cuMemsetD32Async")};
}

constexpr Work nothing = {0, 0, 0, 0};

TYPED_TEST(SyncedMemoryOnTheDevice, ReadsZerosAtTheFirstTouch) {
  for (std::size_t size : sizes) {
    driver::clear_log();
    TypeParam memory(size);
    const void* data = memory.gpu_data();
    ASSERT_NE(data, nullptr) << size;
    EXPECT_EQ(memory.head(), head_at_gpu);
    EXPECT_COUNTED(done(), (Work{0, 0, 1, 1})) << driver::log();
    EXPECT_EQ(driver::read(data, size), all(0, size)) << size;
  }
}

TYPED_TEST(SyncedMemoryOnTheDevice, GetsWhatTheHostWroteByOneCopy) {
  for (std::size_t size : sizes) {
    TypeParam memory(size);
    std::memset(memory.mutable_cpu_data(), 0x5C, size);
    driver::clear_log();
    const void* data = memory.gpu_data();
    EXPECT_EQ(memory.head(), synced);
    EXPECT_COUNTED(done(), (Work{1, 0, 1, 0})) << driver::log();
    EXPECT_COUNTED(driver::copies("HtoD", size), 1u) << driver::log();
    EXPECT_EQ(driver::read(data, size), all(0x5C, size)) << size;
  }
}

TYPED_TEST(SyncedMemoryOnTheDevice, GivesTheHostWhatWasWrittenByOneCopy) {
  for (std::size_t size : sizes) {
    TypeParam memory(size);
    ASSERT_TRUE(driver::fill(memory.mutable_gpu_data(), 0x6D, size));
    driver::clear_log();
    const void* data = memory.cpu_data();
    EXPECT_EQ(memory.head(), synced);
    EXPECT_COUNTED(done(), (Work{0, 1, 0, 0})) << driver::log();
    EXPECT_COUNTED(driver::copies("DtoH", size), 1u) << driver::log();
    EXPECT_EQ(host(data, size), all(0x6D, size)) << size;
  }
}

TYPED_TEST(SyncedMemoryOnTheDevice, OfSizeZeroIsNullAndAsksTheDriverForNothing) {
  TypeParam memory(0);
  EXPECT_EQ(memory.gpu_data(), nullptr);
  EXPECT_EQ(memory.mutable_gpu_data(), nullptr);
  EXPECT_EQ(memory.head(), head_at_gpu);
  EXPECT_NE(memory.cpu_data(), nullptr);
  EXPECT_EQ(memory.head(), synced);
  EXPECT_NE(memory.mutable_cpu_data(), nullptr);
  EXPECT_EQ(memory.gpu_data(), nullptr);
  EXPECT_EQ(memory.head(), synced);
  EXPECT_COUNTED(done(), nothing) << driver::log();
}

TYPED_TEST(SyncedMemoryOnTheDevice, GivesItsBlocksBackWithTheObject) {
  for (std::size_t size : sizes) {
    const std::size_t before = driver::account().device_bytes;
    {
      TypeParam memory(size);
      memory.mutable_gpu_data();
      memory.cpu_data();
      EXPECT_COUNTED(driver::account().device_bytes, before + size);
    }
    EXPECT_COUNTED(driver::account().device_bytes, before);
  }
}

TYPED_TEST(SyncedMemoryOnTheDevice, BorrowsTheCallersBlockAndNeverFreesIt) {
  if constexpr (!TypeParam::borrows_on_the_device) {
    GTEST_SKIP() << "no device memory can be borrowed in this generation";
  } else {
    constexpr std::size_t size = 3000;
    const driver::Block mine(size);
    ASSERT_TRUE(driver::fill(mine.data(), 0x21, size));
    {
      TypeParam memory(size);
      memory.mutable_gpu_data();
      const std::size_t blocks = driver::account().device_blocks;
      memory.set_gpu_data(mine.data());
      EXPECT_COUNTED(driver::account().device_blocks, blocks - 1) << "the object's own block is given up at once";
      EXPECT_EQ(memory.head(), head_at_gpu);
      EXPECT_EQ(memory.gpu_data(), mine.data());
      EXPECT_EQ(host(memory.cpu_data(), size), all(0x21, size));
      std::memset(memory.mutable_cpu_data(), 0x43, size);
      EXPECT_EQ(memory.gpu_data(), mine.data());
    }
    EXPECT_EQ(driver::read(mine.data(), size), all(0x43, size));
  }
}

TYPED_TEST(SyncedMemoryOnTheDevice, IsPushedOnTheCallersStreamAndSyncedAtOnce) {
  if constexpr (!TypeParam::pushes) {
    GTEST_SKIP() << "nothing can be pushed in this generation";
  } else {
    for (std::size_t size : sizes) {
      driver::NonBlockingStream stream;
      TypeParam memory(size);
      std::memset(memory.mutable_cpu_data(), 0x7E, size);
      driver::clear_log();
      memory.async_gpu_push(stream.get());
      EXPECT_EQ(memory.head(), synced);
      EXPECT_COUNTED(done(), (Work{1, 0, 1, 0})) << driver::log();
      EXPECT_EQ(stream.synchronize(), 0);
      EXPECT_EQ(driver::api().cuStreamSynchronize(nullptr), 0) << "one generation knows no other stream";
      EXPECT_EQ(driver::read(memory.gpu_data(), size), all(0x7E, size)) << size;
    }
  }
}

// Every operation in every order, on the library and on the reference; both write the same bytes.
TYPED_TEST(SyncedMemoryOnTheDevice, AgreesWithTheReferenceOnEverySequenceOfFour) {
  constexpr std::size_t size = 48;
  constexpr int depth = 4;
  enum { read_host, write_host, read_device, write_device, push, lend_host, lend_device, all_operations };
  int operations[all_operations], count = 0;
  for (int operation = read_host; operation <= write_device; ++operation) operations[count++] = operation;
  if constexpr (TypeParam::pushes) operations[count++] = push;
  if constexpr (TypeParam::borrows) operations[count++] = lend_host;
  if constexpr (TypeParam::borrows_on_the_device) operations[count++] = lend_device;
  int sequences = 1;
  for (int i = 0; i < depth; ++i) sequences *= count;

  driver::NonBlockingStream stream;
  const driver::Block our_block(size);
  for (int sequence = 0; sequence < sequences; ++sequence) {
    unsigned char ours[size] = {}, theirs[size] = {}, their_block[size] = {};
    ASSERT_TRUE(driver::fill(our_block.data(), 0, size));
    TypeParam memory(size);
    DeviceReference reference(size);
    for (int step = 0, rest = sequence; step < depth; ++step, rest /= count) {
      const unsigned char value = static_cast<unsigned char>(step + 1);
      switch (operations[rest % count]) {
        case read_host:
          ASSERT_EQ(std::memcmp(memory.cpu_data(), reference.cpu_data(), size), 0) << sequence;
          break;
        case write_host:
          std::memset(memory.mutable_cpu_data(), value, size / 2);
          std::memset(reference.mutable_cpu_data(), value, size / 2);
          break;
        case read_device:
          ASSERT_EQ(driver::read(memory.gpu_data(), size), host(reference.gpu_data(), size)) << sequence;
          break;
        case write_device:
          ASSERT_TRUE(driver::fill(memory.mutable_gpu_data(), value, size / 3)) << sequence;
          std::memset(reference.mutable_gpu_data(), value, size / 3);
          break;
        case push:
          // A push from any other state is an error.
          if (reference.head() == DeviceReference::head_at_cpu) {
            if constexpr (TypeParam::pushes) memory.async_gpu_push(stream.get());
            reference.push();
            ASSERT_EQ(stream.synchronize(), 0);
            ASSERT_EQ(driver::api().cuStreamSynchronize(nullptr), 0);
          }
          break;
        case lend_host:
          if constexpr (TypeParam::borrows) memory.set_cpu_data(ours);
          reference.set_cpu_data(theirs);
          break;
        case lend_device:
          if constexpr (TypeParam::borrows_on_the_device) memory.set_gpu_data(our_block.data());
          reference.set_gpu_data(their_block);
          break;
      }
      ASSERT_EQ(memory.head(), reference.head()) << sequence;
    }
    ASSERT_EQ(std::memcmp(memory.cpu_data(), reference.cpu_data(), size), 0) << sequence;
    ASSERT_EQ(driver::read(memory.gpu_data(), size), host(reference.gpu_data(), size)) << sequence;
    ASSERT_EQ(std::memcmp(ours, theirs, size), 0) << sequence;
    ASSERT_EQ(driver::read(our_block.data(), size), host(their_block, size)) << sequence;
  }
}

}  // namespace
