// The C++ class over the C API: its copies of the shape and of the memories, and its exceptions. tests/blob has the rules of
// shapes, sharing, copies and math.
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "syncedmem/blob.hpp"

namespace caffe = syncedmem;

/// Number of C++ allocations that still succeed on this thread; below 0, all do.
static thread_local int allocations = -1;

// Not inlined: the compiler would take free() for a mismatched operator delete.
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

TEST(BlobShapes, AreAnsweredByTheFunctionOfEachName) {
  const Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.shape_string(), "2 3 4 5 (120)");
  EXPECT_EQ((std::vector<int>{blob.num(), blob.channels(), blob.height(), blob.width()}), blob.shape());
  EXPECT_EQ((std::vector<int>{blob.shape(-4), blob.shape(3), blob.LegacyShape(-1), blob.CanonicalAxisIndex(-2)}),
            (std::vector<int>{2, 5, 5, 2}));
  EXPECT_EQ((std::vector<int>{blob.count(), blob.count(1), blob.count(1, 3)}), (std::vector<int>{120, 60, 12}));
  EXPECT_EQ((std::vector<int>{blob.offset(1, 2, 3, 4), blob.offset(2), blob.offset({1, 2})}),
            (std::vector<int>{119, 120, 100}));
  EXPECT_THROW(blob.shape(4), std::invalid_argument);
  EXPECT_THROW(blob.CanonicalAxisIndex(-5), std::invalid_argument);
  EXPECT_THROW(blob.LegacyShape(4), std::invalid_argument);
  EXPECT_THROW(blob.count(3, 2), std::invalid_argument);
  EXPECT_THROW(blob.offset(3), std::invalid_argument);
  EXPECT_THROW(blob.offset({0, 3}), std::invalid_argument);
  EXPECT_THROW(Blob<float>(std::vector<int>(5, 1)).num(), std::invalid_argument);
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
  EXPECT_EQ(blob.offset(2, 0, 0, 0), 120);
  EXPECT_THROW(blob.data_at(2, 0, 0, 0), std::invalid_argument) << "one past the end has no element";
  EXPECT_THROW(blob.diff_at(1, 3, 0, 0), std::invalid_argument);
  EXPECT_THROW(Blob<float>({0}).data_at(std::vector<int>()), std::invalid_argument);
}

TEST(BlobShapes, ThatAreRefusedChangeNothing) {
  Blob<float> blob({2, 3});
  blob.mutable_cpu_data()[5] = 6;
  const float* data = blob.cpu_data();
  EXPECT_THROW(blob.Reshape({4, -1}), std::invalid_argument);
  EXPECT_THROW(blob.Reshape({1 << 16, 1 << 16}), std::invalid_argument);
  EXPECT_EQ(blob.shape(), (std::vector<int>{2, 3}));
  EXPECT_EQ(blob.count(), 6);
  EXPECT_EQ(blob.cpu_data(), data);
  EXPECT_EQ(data[5], 6);
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

template <typename Dtype>
void computes() {
  Blob<Dtype> blob({2}), copy;
  blob.mutable_cpu_data()[0] = -2;
  blob.mutable_cpu_data()[1] = 3;
  blob.mutable_cpu_diff()[0] = blob.mutable_cpu_diff()[1] = Dtype(0.5);
  EXPECT_EQ((std::vector<Dtype>{blob.asum_data(), blob.sumsq_data(), blob.asum_diff(), blob.sumsq_diff()}),
            (std::vector<Dtype>{5, 13, 1, Dtype(0.5)}));
  blob.scale_data(3);
  blob.scale_diff(4);
  blob.Update();
  EXPECT_EQ((std::vector<Dtype>{blob.cpu_data()[0], blob.cpu_data()[1], blob.cpu_diff()[1]}), (std::vector<Dtype>{-8, 7, 2}));
  copy.CopyFrom(blob, true, true);
  EXPECT_EQ(copy.asum_diff(), 4);
  EXPECT_EQ(copy.data()->head(), SyncedMemory::UNINITIALIZED);
}

TEST(BlobMath, IsThatOfTheArrayThatTheNameSays) {
  computes<float>();
  computes<double>();
  Blob<int> integers({2});
  integers.mutable_cpu_data();
  integers.mutable_cpu_diff();
  EXPECT_THROW(integers.Update(), syncedmem::error);
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
