// Host memory of the program's own allocator: whole, by exactly the sizes asked for, so that valgrind and
// AddressSanitizer find each wrong byte.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/fatal_line.hpp"
#include "support/threads.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

const std::size_t sizes[] = {1, 100, 4096, 4097, 64 << 10, (64 << 10) + 1, 3 << 20};

/// Bytes and blocks of an allocator that live.
struct Book {
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> blocks{0};
};

void* allocate(std::size_t bytes, std::size_t alignment, void* context) {
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes) != 0) return nullptr;
  static_cast<Book*>(context)->bytes += bytes;
  ++static_cast<Book*>(context)->blocks;
  return block;
}

void release(void* block, std::size_t bytes, void* context) {
  static_cast<Book*>(context)->bytes -= bytes;
  --static_cast<Book*>(context)->blocks;
  std::free(block);
}

void* throws(std::size_t, std::size_t, void*) { throw std::runtime_error("a bug of the program's"); }

void throws_too(void*, std::size_t, void*) { throw std::runtime_error("a bug of the program's"); }

syncedmem_host_allocator_t table(Book& book) {
  return {sizeof(syncedmem_host_allocator_t), allocate, release, &book, false};
}

void use(const syncedmem_host_allocator_t& allocator) {
  ASSERT_EQ(syncedmem_set_host_allocator(&allocator), SYNCEDMEM_SUCCESS) << syncedmem_last_error();
}

class AllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { EXPECT_EQ(syncedmem_set_host_allocator(nullptr), SYNCEDMEM_SUCCESS); }

  Book book;
};

TEST_F(AllocatorTest, GivesTheBytesThatAnObjectHasAndGetsThemBack) {
  use(table(book));
  for (std::size_t size : sizes) {
    {
      SyncedMemory memory(size);
      const unsigned char* read = static_cast<const unsigned char*>(memory.cpu_data());
      EXPECT_EQ(book.bytes, size);
      EXPECT_EQ(read[0] + read[size - 1], 0);
      std::memset(memory.mutable_cpu_data(), 7, size);
      EXPECT_EQ(read[size - 1], 7);
    }
    EXPECT_EQ(book.bytes, 0u);
  }
}

TEST_F(AllocatorTest, GetsItsBlocksBackAfterAnotherTookItsPlace) {
  use(table(book));
  std::vector<std::unique_ptr<SyncedMemory>> memories;
  for (std::size_t size : sizes) {
    memories.emplace_back(new SyncedMemory(size));
    memories.back()->mutable_cpu_data();
  }
  Book other;
  use(table(other));
  std::unique_ptr<SyncedMemory> later(new SyncedMemory(100));
  later->mutable_cpu_data();
  EXPECT_EQ(book.blocks, memories.size());
  EXPECT_EQ(other.blocks, 1u);
  memories.clear();
  EXPECT_EQ(book.blocks, 0u);
  EXPECT_EQ(book.bytes, 0u);
  ASSERT_EQ(syncedmem_set_host_allocator(nullptr), SYNCEDMEM_SUCCESS);
  later.reset();
  EXPECT_EQ(other.blocks, 0u);
}

TEST_F(AllocatorTest, MayBeExchangedWhileEightThreadsUseObjects) {
  Book books[2];
  at_once([&](int thread) {
    for (int round = 0; round < rounds(); ++round) {
      if (round % 4 == 0) syncedmem_set_host_allocator(nullptr);
      const syncedmem_host_allocator_t next = table(books[(round + thread) % 2]);
      if (round % 4 == 1) syncedmem_set_host_allocator(&next);
      const std::size_t size = sizes[(round * 3 + thread) % 6];
      SyncedMemory memory(size);
      std::memset(memory.mutable_cpu_data(), thread, size);
    }
  });
  for (const Book& each : books) {
    EXPECT_EQ(each.blocks, 0u);
    EXPECT_EQ(each.bytes, 0u);
  }
}

/// Exits with 3 if a block is left when it is destroyed, else with 2.
struct Last {
  Book book;
  ~Last() { std::_Exit(book.blocks == 0 ? 2 : 3); }
};

void exits_with_static_objects() {
  static Last last;
  use(table(last.book));
  static SyncedMemory small(100), large(3 << 20);
  small.mutable_cpu_data();
  large.mutable_cpu_data();
  if (last.book.blocks != 2) std::_Exit(4);
  std::exit(1);
}

TEST_F(AllocatorTest, GetsTheBlocksOfStaticObjectsBackWhileTheProcessExits) {
  EXPECT_EXIT(exits_with_static_objects(), ::testing::ExitedWithCode(2), "");
}

void touches_and_catches(const syncedmem_host_allocator_t& allocator) {
  use(allocator);
  try {
    SyncedMemory(100).mutable_cpu_data();
  } catch (...) {
    std::_Exit(1);
  }
}

TEST_F(AllocatorTest, AnExceptionOutOfItEndsTheProcess) {
  syncedmem_host_allocator_t allocator = table(book);
  allocator.allocate = throws;
  EXPECT_ABORT(touches_and_catches(allocator), "foreign exception");
  allocator = table(book);
  allocator.release = throws_too;
  EXPECT_ABORT(touches_and_catches(allocator), "foreign exception");
}

}  // namespace
