// The rules of Caffe's Blob that are kept, in C++, and what each failure throws.
#include <climits>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "blob/messages.hpp"
#include "syncedmem/blob.hpp"

namespace caffe = syncedmem;

/// Allocations of C++ that this thread still gets; below 0: all.
static thread_local int allocations = -1;

// Not inlined: the compiler would take free() for that of a block of another operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations == 0) throw std::bad_alloc();
  if (allocations > 0) --allocations;
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

using caffe::Blob;
using caffe::SyncedMemory;

static_assert(!std::is_copy_constructible<Blob<float>>::value && !std::is_copy_assignable<Blob<float>>::value, "");
static_assert(!std::is_convertible<std::vector<int>, Blob<float>>::value, "a shape is no blob");

TEST(BlobShapes, AreNamedAsInCaffe) {
  EXPECT_EQ(Blob<float>(2, 3, 4, 5).shape_string(), "2 3 4 5 (120)");
  EXPECT_EQ(Blob<float>(std::vector<int>()).shape_string(), "(1)");
  EXPECT_EQ(Blob<float>().shape_string(), "(0)");
}

TEST(BlobShapes, OfNoAxesHaveOneElement) {
  Blob<float> blob((std::vector<int>()));
  EXPECT_EQ(blob.count(), 1);
  blob.mutable_cpu_data()[0] = 3;
  EXPECT_EQ(blob.data_at(std::vector<int>()), 3);
  EXPECT_EQ(blob.num(), 1);
}

TEST(BlobShapes, CountFromTheEndByNegativeAxes) {
  const Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.shape(-1), 5);
  EXPECT_EQ(blob.shape(-4), 2);
  EXPECT_EQ(blob.CanonicalAxisIndex(-2), 2);
  EXPECT_EQ(blob.CanonicalAxisIndex(3), 3);
  EXPECT_THROW(blob.shape(4), std::invalid_argument);
  EXPECT_THROW(blob.CanonicalAxisIndex(-5), std::invalid_argument);
}

TEST(BlobShapes, CountTheElementsOfSomeAxes) {
  const Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.count(1), 60);
  EXPECT_EQ(blob.count(1, 3), 12);
  EXPECT_EQ(blob.count(4), 1);
  EXPECT_EQ(blob.count(2, 2), 1);
  EXPECT_THROW(blob.count(3, 2), std::invalid_argument);
  EXPECT_THROW(blob.count(-1), std::invalid_argument);
  EXPECT_THROW(blob.count(0, 5), std::invalid_argument);
}

TEST(BlobShapes, OfUpToFourAxesHaveLegacyNames) {
  const Blob<float> blob({7, 8});
  EXPECT_EQ(blob.num(), 7);
  EXPECT_EQ(blob.channels(), 8);
  EXPECT_EQ(blob.height(), 1);
  EXPECT_EQ(blob.width(), 1);
  EXPECT_EQ(blob.LegacyShape(-1), 8);
  EXPECT_EQ(blob.LegacyShape(-4), 1);
  EXPECT_THROW(blob.LegacyShape(4), std::invalid_argument);
  EXPECT_THROW(blob.LegacyShape(-5), std::invalid_argument);
  EXPECT_THROW(Blob<float>(std::vector<int>(5, 1)).num(), std::invalid_argument);
}

TEST(BlobShapes, HaveAtMost32AxesAndIntMaxElements) {
  Blob<float> blob(std::vector<int>(caffe::kMaxBlobAxes, 1));
  EXPECT_EQ(blob.num_axes(), 32);
  EXPECT_THROW(blob.Reshape(std::vector<int>(33, 1)), std::invalid_argument);
  EXPECT_THROW(blob.Reshape({INT_MAX, 2}), std::invalid_argument);
  EXPECT_EQ(blob.num_axes(), 32) << "a refused shape changes nothing";
  blob.Reshape({1 << 15, 1 << 15});
  EXPECT_EQ(blob.count(), 1 << 30);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED);
}

TEST(BlobShapes, OfAMessageAreTaken) {
  messages::BlobShape shape;
  shape.add_dim(6);
  shape.add_dim(7);
  Blob<double> blob;
  blob.Reshape(shape);
  EXPECT_EQ(blob.shape(), (std::vector<int>{6, 7}));
}

TEST(BlobOffsets, AreThoseOfRowMajorOrder) {
  const Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.offset(1, 2, 3, 4), 119);
  EXPECT_EQ(blob.offset(1), 60);
  EXPECT_EQ(blob.offset(2), 120) << "one past the end";
  EXPECT_EQ(blob.offset({1, 2}), 100);
  EXPECT_EQ(blob.offset(std::vector<int>()), 0);
  EXPECT_THROW(blob.offset(3), std::invalid_argument);
  EXPECT_THROW(blob.offset({0, 3}), std::invalid_argument);
  EXPECT_THROW(blob.offset({0, 0, 0, 0, 0}), std::invalid_argument);
}

TEST(BlobOffsets, LeadToTheElements) {
  Blob<int> blob(2, 3, 4, 5);
  for (int i = 0; i < blob.count(); ++i) {
    blob.mutable_cpu_data()[i] = i;
    blob.mutable_cpu_diff()[i] = -i;
  }
  EXPECT_EQ(blob.data_at(1, 2, 3, 4), 119);
  EXPECT_EQ(blob.diff_at(0, 1, 0, 2), -22);
  EXPECT_EQ(blob.data_at({1, 0, 2}), 70);
  EXPECT_EQ(blob.diff_at({1}), -60);
}

TEST(BlobCapacity, KeepsContentsAndAddresses) {
  Blob<float> blob({4, 5});
  blob.mutable_cpu_data()[7] = 3;
  const float* data = blob.cpu_data();
  blob.Reshape({2, 5});
  blob.Reshape({20});
  EXPECT_EQ(blob.cpu_data(), data);
  EXPECT_EQ(data[7], 3);
}

TEST(BlobCapacity, ThatIsExceededGivesNewMemory) {
  Blob<float> blob({4, 5});
  blob.mutable_cpu_data()[7] = 3;
  const std::shared_ptr<SyncedMemory> before = blob.data();
  blob.Reshape({21});
  EXPECT_NE(blob.data(), before);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(blob.data()->size(), 21 * sizeof(float));
  EXPECT_EQ(before->cpu_data<float>()[7], 3) << "a pointer to the old memory keeps it";
}

TEST(BlobMemory, IsTheSameObjectUntilItIsReplaced) {
  Blob<float> blob({4});
  const SyncedMemory* data = blob.data().get();
  blob.mutable_cpu_data();
  blob.Reshape({2});
  EXPECT_EQ(blob.data().get(), data);
  EXPECT_NE(blob.data(), blob.diff());
}

TEST(BlobMemory, OutlivesItsBlob) {
  std::shared_ptr<SyncedMemory> held;
  {
    Blob<float> blob({4});
    blob.mutable_cpu_data()[3] = 5;
    held = blob.data();
  }
  EXPECT_EQ(held->cpu_data<float>()[3], 5);
}

TEST(BlobMemory, OfAnUnshapedBlobIsRefused) {
  Blob<float> blob;
  EXPECT_THROW(blob.data(), syncedmem::error);
  EXPECT_THROW(blob.diff(), syncedmem::error);
  EXPECT_THROW(blob.cpu_data(), syncedmem::error);
  EXPECT_THROW(blob.mutable_cpu_diff(), syncedmem::error);
  EXPECT_EQ(blob.asum_data(), 0);
  EXPECT_EQ(blob.sumsq_diff(), 0);
}

TEST(BlobSharing, SeesTheSameMemory) {
  Blob<float> one({2, 3});
  Blob<float> two({6});
  two.ShareData(one);
  EXPECT_EQ(two.data(), one.data());
  one.mutable_cpu_data()[5] = 4;
  EXPECT_EQ(two.cpu_data()[5], 4);
  EXPECT_NE(two.diff(), one.diff());
  two.ShareDiff(one);
  EXPECT_EQ(two.mutable_cpu_diff(), one.mutable_cpu_diff());
}

TEST(BlobSharing, OfAnotherCountIsRefused) {
  Blob<float> one({2, 3});
  Blob<float> two({5});
  EXPECT_THROW(two.ShareData(one), std::invalid_argument);
  EXPECT_THROW(two.ShareDiff(one), std::invalid_argument);
  EXPECT_NE(two.data(), one.data());
}

TEST(BlobSharing, OutlivesTheOtherBlob) {
  Blob<float> two({6});
  {
    Blob<float> one({6});
    one.mutable_cpu_data()[0] = 8;
    two.ShareData(one);
  }
  EXPECT_EQ(two.cpu_data()[0], 8);
}

TEST(BlobSharing, EndsOnDifferentThreads) {
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<Blob<float>> first(new Blob<float>({100}));
    first->mutable_cpu_data()[99] = 6;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      auto* mine = new Blob<float>({100});
      mine->ShareData(*first);
      threads.emplace_back([mine] {
        EXPECT_EQ(mine->data_at({99}), 6);
        mine->Reshape({200});
        delete mine;
      });
    }
    first.reset();
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(BlobMemory, IsReadByManyThreadsAtOnce) {
  const Blob<double> blob({1000});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&blob] {
      EXPECT_EQ(blob.data_at({999}) + blob.asum_diff(), 0);
      EXPECT_EQ(blob.shape_string(), "1000 (1000)");
      EXPECT_EQ(blob.data()->size(), 8000u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BlobCopies, NeedTheSameShapeOrLeaveToReshape) {
  Blob<double> from({2, 3});
  from.mutable_cpu_data()[4] = 9;
  Blob<double> to({3, 2});
  EXPECT_THROW(to.CopyFrom(from), std::invalid_argument);
  to.CopyFrom(from, false, true);
  EXPECT_EQ(to.shape(), from.shape());
  EXPECT_EQ(to.cpu_data()[4], 9);
  EXPECT_NE(to.data(), from.data());
}

TEST(BlobMath, OfIntegersIsRefused) {
  Blob<int> blob({3});
  Blob<unsigned int> other({3});
  blob.mutable_cpu_data();
  other.mutable_cpu_data();
  EXPECT_THROW(blob.Update(), syncedmem::error);
  EXPECT_THROW(blob.asum_data(), syncedmem::error);
  EXPECT_THROW(blob.scale_diff(2), syncedmem::error);
  EXPECT_THROW(other.sumsq_data(), syncedmem::error);
}

TEST(BlobMath, UpdateOfAnUntouchedBlobIsRefused) {
  Blob<float> blob({3});
  EXPECT_THROW(blob.Update(), syncedmem::error);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED);
}

TEST(BlobFailures, OfMemoryForAPointerNeverLeaveOneToSmallerMemory) {
  int failures = 0;
  for (bool failed = true; failed; ++failures) {
    Blob<float> blob({4});
    allocations = failures;
    try {
      blob.Reshape({1000});
      failed = false;
    } catch (const std::bad_alloc&) {
    }
    allocations = -1;
    const std::size_t bytes = static_cast<std::size_t>(blob.count()) * sizeof(float);
    for (const bool diff : {false, true}) {
      try {
        EXPECT_GE((diff ? blob.diff() : blob.data())->size(), bytes) << "allocation " << failures << ", diff " << diff;
      } catch (const std::bad_alloc&) {
        EXPECT_TRUE(failed);
      }
    }
  }
  EXPECT_GT(failures, 3);
}

TEST(BlobFailures, EndTheProcessWhereNoCodeCatchesThem) {
  const auto uncaught = []() noexcept { Blob<float>({2}).shape(7); };
  EXPECT_DEATH(uncaught(), "axis");
}

}  // namespace
