// FromProto and ToProto with the classes that protoc generates, also through the bytes of a file.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "messages.pb.h"
#include "syncedmem/blob.hpp"

namespace {

using blob_test::BlobProto;
using syncedmem::Blob;

template <typename Dtype>
class BlobProtobuf : public ::testing::Test {};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(BlobProtobuf, Dtypes);

TYPED_TEST(BlobProtobuf, GoesThroughTheBytesOfAFile) {
  Blob<TypeParam> blob({2, 3});
  for (int i = 0; i < 6; ++i) {
    blob.mutable_cpu_data()[i] = static_cast<TypeParam>(i) / 7;
    blob.mutable_cpu_diff()[i] = static_cast<TypeParam>(-i);
  }
  BlobProto written;
  written.set_num(9);
  written.add_data(9);
  written.add_double_data(9);
  blob.ToProto(&written, true);
  EXPECT_FALSE(written.has_num());
  EXPECT_EQ(written.data_size() + written.double_data_size(), 6);
  EXPECT_TRUE(blob.ShapeEquals(written));

  BlobProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(written.SerializeAsString()));
  Blob<TypeParam> read;
  read.FromProto(parsed);
  EXPECT_EQ(read.shape(), blob.shape());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(read.cpu_data()[i], blob.cpu_data()[i]);
    EXPECT_EQ(read.cpu_diff()[i], blob.cpu_diff()[i]);
  }
}

TYPED_TEST(BlobProtobuf, ReadsLegacyDimensions) {
  BlobProto proto;
  proto.set_num(1);
  proto.set_channels(1);
  proto.set_height(1);
  proto.set_width(4);
  for (int i = 0; i < 4; ++i) proto.add_data(static_cast<float>(i));
  Blob<TypeParam> blob({4});
  blob.FromProto(proto, false);
  EXPECT_EQ(blob.cpu_data()[3], 3);
  blob.FromProto(proto);
  EXPECT_EQ(blob.shape(), (std::vector<int>{1, 1, 1, 4}));
}

TYPED_TEST(BlobProtobuf, ReshapesToABlobShape) {
  blob_test::BlobShape shape;
  shape.add_dim(2);
  shape.add_dim(5);
  Blob<TypeParam> blob;
  blob.Reshape(shape);
  EXPECT_EQ(blob.shape(), (std::vector<int>{2, 5}));
}

}  // namespace
