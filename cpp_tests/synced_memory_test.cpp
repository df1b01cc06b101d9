// The suite about SyncedMemory on the host, on a reference class and on the library. GENERATION names the header of one
// Caffe. With EVERY_DOOR the C API and the wrapper are tested, too.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include GENERATION
#include "support/reference.hpp"
#include "support/subjects.hpp"

namespace {

using ThroughThisGeneration = ThroughCxx<caffe::SyncedMemory, Generation::borrows>;
#ifdef EVERY_DOOR
using Subjects = ::testing::Types<ThroughThisGeneration, Reference, ThroughC, ThroughWrapper>;
#else
using Subjects = ::testing::Types<ThroughThisGeneration>;
#endif

class SubjectNames {
 public:
  template <typename Subject>
  static std::string GetName(int index) {
    static const char* const names[] = {"CxxAbi", "Reference", "CApi", "Wrapper"};
    return names[index];
  }
};

template <typename Subject>
class SyncedMemoryOnTheHost : public ::testing::Test {};
TYPED_TEST_SUITE(SyncedMemoryOnTheHost, Subjects, SubjectNames);

constexpr int uninitialized = 0;
constexpr int head_at_cpu = 1;

// Sizes around the library's limits: 0, a byte, malloc's small sizes, a page, and 2 MiB, where mappings begin.
constexpr std::size_t sizes[] = {0, 1, 63, 64, 1032, 1033, 4096, 100003,
                                 (2 << 20) - 1, 2 << 20, (2 << 20) + 5};

bool is_all(const void* data, unsigned char value, std::size_t size) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  // The first byte is right, and every other byte equals the one before it.
  return size == 0 || (bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

TYPED_TEST(SyncedMemoryOnTheHost, BeginsUntouchedWithTheSizeItWasGiven) {
  for (std::size_t size : sizes) {
    TypeParam memory(size);
    EXPECT_EQ(memory.head(), uninitialized);
    EXPECT_EQ(memory.size(), size);
  }
}

TYPED_TEST(SyncedMemoryOnTheHost, MayHaveASizeThatNobodyCouldAllocateUntilItIsTouched) {
  const std::size_t size = std::size_t(1) << 55;
  EXPECT_EQ(TypeParam(size).size(), size);
}

TYPED_TEST(SyncedMemoryOnTheHost, ReadsZerosAtTheFirstTouch) {
  for (std::size_t size : sizes) {
    TypeParam memory(size);
    const void* data = memory.cpu_data();
    ASSERT_NE(data, nullptr) << size;
    EXPECT_TRUE(is_all(data, 0, size)) << size;
    EXPECT_EQ(memory.head(), head_at_cpu);
  }
}

TYPED_TEST(SyncedMemoryOnTheHost, ReadsZerosAtTheFirstTouchEvenWhereAnotherHadWritten) {
  for (std::size_t size : sizes) {
    for (int round = 0; round < 3; ++round) {
      TypeParam memory(size);
      void* data = memory.mutable_cpu_data();
      ASSERT_NE(data, nullptr) << size;
      EXPECT_TRUE(is_all(data, 0, size)) << size;
      std::memset(data, 0xFF, size);
    }
  }
}

TYPED_TEST(SyncedMemoryOnTheHost, StaysWhereItIs) {
  for (std::size_t size : sizes) {
    TypeParam memory(size);
    const void* first = memory.cpu_data();
    EXPECT_EQ(memory.mutable_cpu_data(), first);
    EXPECT_EQ(memory.cpu_data(), first);
    EXPECT_EQ(memory.head(), head_at_cpu);
    EXPECT_EQ(memory.size(), size);
  }
}

TYPED_TEST(SyncedMemoryOnTheHost, SharesNothingWithItsNeighbours) {
  TypeParam one(3 << 20), two(3 << 20);
  std::memset(one.mutable_cpu_data(), 1, one.size());
  std::memset(two.mutable_cpu_data(), 2, two.size());
  EXPECT_TRUE(is_all(one.cpu_data(), 1, one.size()));
  EXPECT_TRUE(is_all(two.cpu_data(), 2, two.size()));
}

TYPED_TEST(SyncedMemoryOnTheHost, BorrowsTheCallersMemoryAndNeverFreesIt) {
  if (!TypeParam::borrows) GTEST_SKIP() << "nothing can be borrowed in this generation";
  std::vector<unsigned char> mine(1000, 7);
  {
    TypeParam memory(mine.size());
    memory.set_cpu_data(mine.data());
    EXPECT_EQ(memory.head(), head_at_cpu);
    EXPECT_EQ(memory.cpu_data(), mine.data());
    EXPECT_EQ(memory.mutable_cpu_data(), mine.data());
    std::memset(memory.mutable_cpu_data(), 9, memory.size());
  }
  EXPECT_TRUE(is_all(mine.data(), 9, mine.size()));
}

TYPED_TEST(SyncedMemoryOnTheHost, GivesItsOwnBlockUpForABorrowedOne) {
  if (!TypeParam::borrows) GTEST_SKIP() << "nothing can be borrowed in this generation";
  for (std::size_t size : sizes) {
    std::vector<unsigned char> mine(std::max<std::size_t>(size, 1), 3), other(std::max<std::size_t>(size, 1), 4);
    TypeParam memory(size);
    std::memset(memory.mutable_cpu_data(), 0xFF, size);
    memory.set_cpu_data(mine.data());
    EXPECT_EQ(memory.cpu_data(), mine.data());
    memory.set_cpu_data(other.data());
    EXPECT_EQ(memory.cpu_data(), other.data());
    EXPECT_TRUE(is_all(mine.data(), 3, mine.size()));
    EXPECT_TRUE(is_all(other.data(), 4, other.size()));
  }
}

// As in Caffe's data layers: one object's block is another object's host side.
TYPED_TEST(SyncedMemoryOnTheHost, LendsItsBlockToAnother) {
  if (!TypeParam::borrows) GTEST_SKIP() << "nothing can be borrowed in this generation";
  TypeParam lender(3 << 20);
  {
    TypeParam borrower(lender.size());
    borrower.set_cpu_data(lender.mutable_cpu_data());
    std::memset(borrower.mutable_cpu_data(), 6, borrower.size());
  }
  EXPECT_TRUE(is_all(lender.cpu_data(), 6, lender.size()));
}

// Every host operation in every order, on the library and on the reference.
TYPED_TEST(SyncedMemoryOnTheHost, AgreesWithTheReferenceOnEverySequenceOfFive) {
  constexpr std::size_t size = 48;
  constexpr int depth = 5;
  const int operations = TypeParam::borrows ? 4 : 2;
  int sequences = 1;
  for (int i = 0; i < depth; ++i) sequences *= operations;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    unsigned char ours[2][size] = {}, theirs[2][size] = {};
    TypeParam memory(size);
    Reference reference(size);
    for (int step = 0, rest = sequence; step < depth; ++step, rest /= operations) {
      switch (rest % operations) {
        case 0:
          ASSERT_EQ(std::memcmp(memory.cpu_data(), reference.cpu_data(), size), 0) << sequence;
          break;
        case 1:
          std::memset(memory.mutable_cpu_data(), step + 1, size / 2);
          std::memset(reference.mutable_cpu_data(), step + 1, size / 2);
          break;
        default:
          const int which = rest % operations - 2;
          memory.set_cpu_data(ours[which]);
          reference.set_cpu_data(theirs[which]);
          ASSERT_EQ(memory.cpu_data(), ours[which]) << sequence;
      }
      ASSERT_EQ(memory.head(), reference.head()) << sequence;
      ASSERT_EQ(memory.size(), reference.size()) << sequence;
    }
    ASSERT_EQ(std::memcmp(memory.cpu_data(), reference.cpu_data(), size), 0) << sequence;
    ASSERT_EQ(std::memcmp(ours, theirs, sizeof ours), 0) << sequence;
  }
}

}  // namespace
