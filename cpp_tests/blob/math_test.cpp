// The behaviours that Caffe's own BlobMathTest is about: sums, scaling and Update on the side that is current.
#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "blob/shims.hpp"

namespace caffe {
namespace {

/// An element type, and the side on which the data is current.
template <typename Element, bool gpu>
struct On {
  typedef Element Dtype;
  static const bool on_gpu = gpu;
};

typedef ::testing::Types<On<float, false>, On<double, false>, On<float, true>, On<double, true>> Sides;

struct Names {
  template <typename Side>
  static std::string GetName(int) {
    return std::string(Side::on_gpu ? "GPU" : "CPU") + (sizeof(typename Side::Dtype) == 4 ? "Float" : "Double");
  }
};

template <typename Side>
class BlobMathTest : public ::testing::Test {
 protected:
  typedef typename Side::Dtype Dtype;

  /// Between -3 and 3, the same in each run.
  static void fill(Dtype* values, int count) {
    std::uint32_t state = 17;
    for (int i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      values[i] = static_cast<Dtype>(state) / static_cast<Dtype>(UINT32_MAX) * 6 - 3;
    }
  }

  void fill_data() { fill(blob_.mutable_cpu_data(), blob_.count()); }

  void scale_into_diff(Dtype factor) {
    const Dtype* data = blob_.cpu_data();
    Dtype* diff = blob_.mutable_cpu_diff();
    for (int i = 0; i < blob_.count(); ++i) diff[i] = factor * data[i];
  }

  /// Makes the test's side the newest.
  void touch_data() { Side::on_gpu ? blob_.mutable_gpu_data() : blob_.mutable_cpu_data(); }
  void touch_diff() { Side::on_gpu ? blob_.mutable_gpu_diff() : blob_.mutable_cpu_diff(); }

  double sum(bool of_squares) {
    const Dtype* data = blob_.cpu_data();
    double sum = 0;
    for (int i = 0; i < blob_.count(); ++i) sum += of_squares ? double(data[i]) * data[i] : std::fabs(double(data[i]));
    return sum;
  }

  Blob<Dtype> blob_{2, 3, 4, 5};
};

TYPED_TEST_SUITE(BlobMathTest, Sides, Names);

#define EXPECT_CLOSE(expected, actual) EXPECT_NEAR(expected, actual, 1e-6 * (expected))

TYPED_TEST(BlobMathTest, TestSumOfSquares) {
  EXPECT_EQ(this->blob_.sumsq_data(), 0) << "untouched";
  EXPECT_EQ(this->blob_.sumsq_diff(), 0);
  this->fill_data();
  const double expected = this->sum(true);
  this->touch_data();
  EXPECT_CLOSE(expected, this->blob_.sumsq_data());
  EXPECT_EQ(this->blob_.sumsq_diff(), 0);
  this->scale_into_diff(7);
  this->touch_diff();
  EXPECT_CLOSE(expected, this->blob_.sumsq_data());
  EXPECT_CLOSE(expected * 49, this->blob_.sumsq_diff());
}

TYPED_TEST(BlobMathTest, TestAsum) {
  EXPECT_EQ(this->blob_.asum_data(), 0) << "untouched";
  EXPECT_EQ(this->blob_.asum_diff(), 0);
  this->fill_data();
  const double expected = this->sum(false);
  this->touch_data();
  EXPECT_CLOSE(expected, this->blob_.asum_data());
  EXPECT_EQ(this->blob_.asum_diff(), 0);
  this->scale_into_diff(7);
  this->touch_diff();
  EXPECT_CLOSE(expected, this->blob_.asum_data());
  EXPECT_CLOSE(expected * 7, this->blob_.asum_diff());
}

TYPED_TEST(BlobMathTest, TestScaleData) {
  this->blob_.scale_data(3);
  EXPECT_EQ(this->blob_.data()->head(), SyncedMemory::UNINITIALIZED) << "scaling an untouched blob does nothing";
  this->fill_data();
  const double before = this->sum(false);
  this->touch_data();
  this->blob_.scale_data(3);
  EXPECT_CLOSE(before * 3, this->blob_.asum_data());
  EXPECT_EQ(this->blob_.asum_diff(), 0);
  this->scale_into_diff(7);
  EXPECT_CLOSE(before * 3, this->blob_.asum_data());
  EXPECT_CLOSE(before * 21, this->blob_.asum_diff());
  this->touch_diff();
  this->blob_.scale_diff(3);
  EXPECT_CLOSE(before * 3, this->blob_.asum_data());
  EXPECT_CLOSE(before * 63, this->blob_.asum_diff());
}

TYPED_TEST(BlobMathTest, TestUpdate) {
  typedef typename TypeParam::Dtype Dtype;
  this->fill_data();
  this->scale_into_diff(Dtype(0.25));
  const vector<Dtype> before(this->blob_.cpu_data(), this->blob_.cpu_data() + this->blob_.count());
  this->touch_data();
  this->blob_.Update();
  const Dtype* data = this->blob_.cpu_data();
  const Dtype* diff = this->blob_.cpu_diff();
  for (int i = 0; i < this->blob_.count(); ++i) EXPECT_EQ(data[i], before[i] - diff[i]) << i;
}

TYPED_TEST(BlobMathTest, TestCopyFrom) {
  this->fill_data();
  this->touch_data();
  Blob<typename TypeParam::Dtype> copy;
  copy.CopyFrom(this->blob_, false, true);
  EXPECT_EQ(copy.shape(), this->blob_.shape());
  EXPECT_EQ(copy.asum_data(), this->blob_.asum_data());
  EXPECT_EQ(copy.diff()->head(), SyncedMemory::UNINITIALIZED);
  this->scale_into_diff(2);
  this->touch_diff();
  copy.CopyFrom(this->blob_, true);
  EXPECT_EQ(copy.asum_diff(), this->blob_.asum_diff());
}

}  // namespace
}  // namespace caffe
