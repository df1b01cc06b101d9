// The layout of one generation of Caffe's class: the library writes only the fields that this header declares.
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include GENERATION
#include "support/guarded_storage.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

static_assert(sizeof(SyncedMemory) == Generation::object_bytes, "the size that the C++ ABI's table has");
static_assert(sizeof(SyncedMemory) >= SYNCEDMEM_STORAGE_BYTES, "what the library may touch");
static_assert(alignof(SyncedMemory) == SYNCEDMEM_STORAGE_ALIGNMENT, "what the library may rely on");
static_assert(int(SyncedMemory::UNINITIALIZED) == int(SYNCEDMEM_UNINITIALIZED), "");
static_assert(int(SyncedMemory::HEAD_AT_CPU) == int(SYNCEDMEM_HEAD_AT_CPU), "");
static_assert(int(SyncedMemory::HEAD_AT_GPU) == int(SYNCEDMEM_HEAD_AT_GPU), "");
static_assert(int(SyncedMemory::SYNCED) == int(SYNCEDMEM_SYNCED), "");

class Layout : public LayoutOf<::testing::Test> {
 protected:
  void SetUp() override { Generation::check_layout(); }
};

constexpr std::size_t small = 100;
constexpr std::size_t mapped = 3 << 20;

bool is_all(const void* data, unsigned char value, std::size_t size) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  // Check the first byte, and that every other byte equals the one before it.
  return bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

TEST_F(Layout, OfANewObjectIsThatOfTheHeaderAndNothingBehindIt) {
  construct(small);
  expect_intact();
  EXPECT_EQ(object_->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(object_->size(), small);
  EXPECT_EQ(pointer(0), nullptr);
  destroy();
}

TEST_F(Layout, OfAnEmptyObjectMadeByTheDefaultConstructorIsWhole) {
  construct();
  EXPECT_EQ(object_->size(), 0u);
  const void* data = object_->cpu_data();
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(pointer(0), data);
  expect_intact();
  destroy();
}

TEST_F(Layout, IsTrueAfterTheFirstReadAndTheFirstWrite) {
  for (std::size_t size : {small, mapped}) {
    const void* read = construct(size).cpu_data();
    expect_whole(SyncedMemory::HEAD_AT_CPU, size, read, true);
    destroy();
    void* data = construct(size).mutable_cpu_data();
    expect_whole(SyncedMemory::HEAD_AT_CPU, size, data, true);
    EXPECT_TRUE(is_all(data, 0, size)) << "zeros at the first touch";
    std::memset(data, 7, size);
    EXPECT_TRUE(is_all(object_->cpu_data(), 7, size));
    expect_whole(SyncedMemory::HEAD_AT_CPU, size, data, true);
    destroy();
  }
}

#ifdef GENERATION_BORROWS
TEST_F(Layout, IsTrueAfterBorrowing) {
  char mine[small] = {}, other[small] = {};
  construct(small).set_cpu_data(mine);
  expect_whole(SyncedMemory::HEAD_AT_CPU, small, mine, false);
  object_->set_cpu_data(other);
  expect_whole(SyncedMemory::HEAD_AT_CPU, small, other, false);
  object_->mutable_cpu_data();
  expect_whole(SyncedMemory::HEAD_AT_CPU, small, other, false);
  destroy();
}

TEST_F(Layout, IsTrueAfterAnOwnedBlockMadeRoomForABorrowedOne) {
  for (std::size_t size : {small, mapped}) {
    std::unique_ptr<char[]> mine(new char[size]());
    expect_whole(SyncedMemory::HEAD_AT_CPU, size, construct(size).cpu_data(), true);
    object_->set_cpu_data(mine.get());
    expect_whole(SyncedMemory::HEAD_AT_CPU, size, mine.get(), false);
    std::memset(object_->mutable_cpu_data(), 9, size);
    destroy();
    EXPECT_TRUE(is_all(mine.get(), 9, size)) << "it stays the caller's";
    expect_intact();
  }
}
#endif

#ifdef GENERATION_RESIZES
TEST_F(Layout, IsTrueAfterResizeWhichDiscardsAndGrowsAndNeverShrinks) {
  void* first = construct(small).mutable_cpu_data();
  std::memset(first, 1, small);
  object_->Resize(small / 2);
  expect_whole(SyncedMemory::HEAD_AT_CPU, small, first, true);
  object_->Resize(mapped);
  expect_intact();
  EXPECT_EQ(object_->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(object_->size(), mapped);
  const unsigned char* second = static_cast<const unsigned char*>(object_->cpu_data());
  expect_whole(SyncedMemory::HEAD_AT_CPU, mapped, second, true);
  EXPECT_EQ(second[0], 0);
  EXPECT_EQ(second[mapped - 1], 0);
  destroy();
}

TEST_F(Layout, DoesNotGrowWhileATensorIsInUse) {
  /// The first members of DLPack's `DLManagedTensorVersioned`.
  struct Tensor {
    std::uint32_t version[2];
    void* context;
    void (*deleter)(void*);
  };
  const std::int64_t shape[] = {small};
  void* tensor = nullptr;
  syncedmem_t* memory = reinterpret_cast<syncedmem_t*>(&construct(small));
  ASSERT_EQ(syncedmem_to_dlpack(memory, 0, 0, 1, 8, 1, shape, true, &tensor), SYNCEDMEM_SUCCESS);
  EXPECT_EXIT(object_->Resize(mapped), ::testing::KilledBySignal(SIGABRT), "1 of the host's, 0 of the device's");
  static_cast<Tensor*>(tensor)->deleter(tensor);
  object_->Resize(mapped);
  EXPECT_EQ(object_->size(), mapped);
  destroy();
}
#endif

}  // namespace
