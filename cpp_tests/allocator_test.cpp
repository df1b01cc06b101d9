// Host memory of the program's own allocator: whole, by exactly the sizes asked for, so that valgrind and
// AddressSanitizer find each wrong byte; and its exceptions. The rest: tests/memory/host_allocator.rs.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>

#include GENERATION
#include "support/fatal_line.hpp"
#include "syncedmem.h"

namespace {

using caffe::SyncedMemory;

const std::size_t sizes[] = {1, 100, 4096, 4097, 64 << 10, (64 << 10) + 1, 3 << 20};

/// The context is the number of bytes that live.
void* allocate(std::size_t bytes, std::size_t alignment, void* context) {
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes) != 0) return nullptr;
  *static_cast<std::size_t*>(context) += bytes;
  return block;
}

void release(void* block, std::size_t bytes, void* context) {
  *static_cast<std::size_t*>(context) -= bytes;
  std::free(block);
}

void* throws(std::size_t, std::size_t, void*) { throw std::runtime_error("a bug of the program's"); }

void throws_too(void*, std::size_t, void*) { throw std::runtime_error("a bug of the program's"); }

syncedmem_host_allocator_t table(std::size_t& bytes) {
  return {sizeof(syncedmem_host_allocator_t), allocate, release, &bytes, false};
}

void use(const syncedmem_host_allocator_t& allocator) {
  ASSERT_EQ(syncedmem_set_host_allocator(&allocator), SYNCEDMEM_SUCCESS) << syncedmem_last_error();
}

class AllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { EXPECT_EQ(syncedmem_set_host_allocator(nullptr), SYNCEDMEM_SUCCESS); }

  std::size_t bytes = 0;
};

TEST_F(AllocatorTest, GivesTheBytesThatAnObjectHasAndGetsThemBack) {
  use(table(bytes));
  for (std::size_t size : sizes) {
    {
      SyncedMemory memory(size);
      const unsigned char* read = static_cast<const unsigned char*>(memory.cpu_data());
      EXPECT_EQ(bytes, size);
      EXPECT_EQ(read[0] + read[size - 1], 0);
      std::memset(memory.mutable_cpu_data(), 7, size);
      EXPECT_EQ(read[size - 1], 7);
    }
    EXPECT_EQ(bytes, 0u);
  }
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
  syncedmem_host_allocator_t allocator = table(bytes);
  allocator.allocate = throws;
  EXPECT_ABORT(touches_and_catches(allocator), "foreign exception");
  allocator = table(bytes);
  allocator.release = throws_too;
  EXPECT_ABORT(touches_and_catches(allocator), "foreign exception");
}

}  // namespace
