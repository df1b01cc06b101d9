// The behaviours that Caffe's own BlobSimpleTest is about, in code written for Caffe's class.
#include <gtest/gtest.h>

#include "blob/shims.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class BlobSimpleTest : public ::testing::Test {
 protected:
  Blob<Dtype> unshaped_;
  Blob<Dtype> shaped_{2, 3, 4, 5};
};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(BlobSimpleTest, Dtypes);

TYPED_TEST(BlobSimpleTest, TestInitialization) {
  EXPECT_EQ(this->unshaped_.num_axes(), 0);
  EXPECT_EQ(this->unshaped_.count(), 0);
  const Blob<TypeParam>& shaped = this->shaped_;
  EXPECT_EQ(shaped.num(), 2);
  EXPECT_EQ(shaped.channels(), 3);
  EXPECT_EQ(shaped.height(), 4);
  EXPECT_EQ(shaped.width(), 5);
  EXPECT_EQ(shaped.num_axes(), 4);
  EXPECT_EQ(shaped.count(), 120);
  EXPECT_EQ(shaped.data()->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(shaped.data()->size(), 120 * sizeof(TypeParam));
}

TYPED_TEST(BlobSimpleTest, TestPointersCPUGPU) {
  EXPECT_NE(this->shaped_.gpu_data(), nullptr);
  EXPECT_NE(this->shaped_.cpu_data(), nullptr);
  EXPECT_NE(this->shaped_.mutable_gpu_data(), nullptr);
  EXPECT_EQ(this->shaped_.data()->head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_NE(this->shaped_.mutable_cpu_data(), nullptr);
  EXPECT_EQ(this->shaped_.data()->head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(this->shaped_.diff()->head(), SyncedMemory::UNINITIALIZED);
}

TYPED_TEST(BlobSimpleTest, TestReshape) {
  this->unshaped_.Reshape(2, 3, 4, 5);
  EXPECT_EQ(this->unshaped_.shape(), this->shaped_.shape());
  EXPECT_EQ(this->unshaped_.count(), 120);
  this->unshaped_.Reshape(vector<int>(1, 7));
  EXPECT_EQ(this->unshaped_.num(), 7);
  EXPECT_EQ(this->unshaped_.channels(), 1);
  this->unshaped_.ReshapeLike(this->shaped_);
  EXPECT_EQ(this->unshaped_.shape(), this->shaped_.shape());
}

TYPED_TEST(BlobSimpleTest, TestReshapeZero) {
  this->unshaped_.Reshape({0, 5});
  EXPECT_EQ(this->unshaped_.count(), 0);
  EXPECT_EQ(this->unshaped_.num_axes(), 2);
}

TYPED_TEST(BlobSimpleTest, TestLegacyBlobProtoShapeEquals) {
  const auto equals_legacy = [this](vector<int> shape, int num, int channels, int height, int width) {
    BlobProto proto;
    proto.set_num(num);
    proto.set_channels(channels);
    proto.set_height(height);
    proto.set_width(width);
    this->unshaped_.Reshape(shape);
    return this->unshaped_.ShapeEquals(proto);
  };
  // Missing axes are the leading ones, and each is 1.
  EXPECT_TRUE(equals_legacy({3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({3, 2}, 0, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({3, 2}, 3, 1, 3, 2));
  EXPECT_TRUE(equals_legacy({1, 3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({2, 3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({1, 1, 1, 3, 2}, 1, 1, 3, 2)) << "more than four axes";
}

TYPED_TEST(BlobSimpleTest, TestShapeEquals) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(3);
  proto.mutable_shape()->add_dim(2);
  this->unshaped_.Reshape({3, 2});
  EXPECT_TRUE(this->unshaped_.ShapeEquals(proto));
  this->unshaped_.Reshape({1, 3, 2});
  EXPECT_FALSE(this->unshaped_.ShapeEquals(proto));
  proto.set_width(6);
  EXPECT_FALSE(this->unshaped_.ShapeEquals(proto)) << "legacy dims win over the shape";
}

}  // namespace
}  // namespace caffe
