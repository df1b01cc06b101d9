// Sums, scaling, Update and copies, on the side that is current.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "syncedmem/blob.hpp"

namespace {

using syncedmem::Blob;
using syncedmem::SyncedMemory;

#define EXPECT_CLOSE(expected, actual) EXPECT_NEAR(expected, actual, 1e-5 * (expected))

/// With a diff of a quarter of the data, negated.
template <typename Dtype>
void computes(bool on_gpu) {
  Blob<Dtype> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.asum_data() + blob.sumsq_data() + blob.asum_diff() + blob.sumsq_diff(), 0) << "untouched";
  blob.scale_data(3);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED) << "scaling an untouched blob does nothing";
  double sum = 0, squares = 0;
  for (int i = 0; i < blob.count(); ++i) {
    const double value = std::sin(i);
    blob.mutable_cpu_data()[i] = static_cast<Dtype>(value);
    blob.mutable_cpu_diff()[i] = static_cast<Dtype>(value / -4);
    sum += std::fabs(value);
    squares += value * value;
  }
  const std::vector<Dtype> before(blob.cpu_data(), blob.cpu_data() + blob.count());
  if (on_gpu) {
    EXPECT_TRUE(blob.mutable_gpu_data() && blob.mutable_gpu_diff());
    EXPECT_EQ(blob.data()->head(), SyncedMemory::HEAD_AT_GPU);
  }
  EXPECT_CLOSE(sum, blob.asum_data());
  EXPECT_CLOSE(squares, blob.sumsq_data());
  EXPECT_CLOSE(sum / 4, blob.asum_diff());
  EXPECT_CLOSE(squares / 16, blob.sumsq_diff());
  blob.scale_data(3);
  blob.scale_diff(2);
  EXPECT_CLOSE(sum * 3, blob.asum_data());
  EXPECT_CLOSE(sum / 2, blob.asum_diff());
  blob.Update();
  for (int i = 0; i < blob.count(); ++i) EXPECT_NEAR(blob.cpu_data()[i], before[i] * 3.5, 1e-5) << i;

  Blob<Dtype> copy;
  copy.CopyFrom(blob, false, true);
  EXPECT_EQ(copy.shape(), blob.shape());
  EXPECT_EQ(copy.asum_data(), blob.asum_data());
  EXPECT_EQ(copy.diff()->head(), SyncedMemory::UNINITIALIZED);
  copy.CopyFrom(blob, true);
  EXPECT_EQ(copy.asum_diff(), blob.asum_diff());
}

TEST(BlobMath, OfFloats) { computes<float>(false); }
TEST(BlobMath, OfDoubles) { computes<double>(false); }
TEST(BlobMath, OfFloatsOnTheGPU) { computes<float>(true); }
TEST(BlobMath, OfDoublesOnTheGPU) { computes<double>(true); }

}  // namespace
