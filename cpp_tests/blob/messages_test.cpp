// FromProto and ToProto with the classes that protoc generates: the precedence of fields, and the type of values.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "messages.pb.h"
#include "syncedmem/blob.hpp"

namespace {

using blob_test::BlobProto;
using syncedmem::Blob;

/// A message with `count` values 0, 1, 2, … and this shape.
BlobProto message(const std::vector<std::int64_t>& shape, int count) {
  BlobProto proto;
  for (const std::int64_t dim : shape) proto.mutable_shape()->add_dim(dim);
  for (int i = 0; i < count; ++i) proto.add_data(static_cast<float>(i));
  return proto;
}

/// A message of four dimensions with six values.
BlobProto legacy(int num, int channels, int height, int width) {
  BlobProto proto = message({}, 6);
  proto.clear_shape();
  proto.set_num(num);
  proto.set_channels(channels);
  proto.set_height(height);
  proto.set_width(width);
  return proto;
}

template <typename Dtype>
void goes_through_the_bytes_of_a_file() {
  Blob<Dtype> blob({2, 3});
  for (int i = 0; i < 6; ++i) {
    blob.mutable_cpu_data()[i] = static_cast<Dtype>(i) / 7;
    blob.mutable_cpu_diff()[i] = static_cast<Dtype>(-i);
  }
  BlobProto written, parsed;
  blob.ToProto(&written, true);
  EXPECT_TRUE(blob.ShapeEquals(written));
  ASSERT_TRUE(parsed.ParseFromString(written.SerializeAsString()));
  Blob<Dtype> read;
  read.FromProto(parsed);
  EXPECT_EQ(read.shape(), blob.shape());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(read.cpu_data()[i], blob.cpu_data()[i]);
    EXPECT_EQ(read.cpu_diff()[i], blob.cpu_diff()[i]);
  }
}

TEST(BlobMessages, GoThroughTheBytesOfAFile) {
  goes_through_the_bytes_of_a_file<float>();
  goes_through_the_bytes_of_a_file<double>();
}

TEST(BlobMessages, WithoutADiffLeaveTheDiffAlone) {
  Blob<float> blob({1});
  blob.mutable_cpu_diff()[0] = 4;
  blob.mutable_cpu_data()[0] = 2;
  blob.FromProto(message({1}, 1));
  EXPECT_EQ(blob.cpu_data()[0], 0);
  EXPECT_EQ(blob.cpu_diff()[0], 4);
}

TEST(BlobMessages, OfDoublesWinOverThoseOfFloats) {
  BlobProto proto = message({1}, 1);
  proto.add_double_data(0.1);
  proto.add_diff(1);
  proto.add_double_diff(0.2);
  Blob<double> doubles;
  doubles.FromProto(proto);
  EXPECT_EQ(doubles.cpu_data()[0], 0.1);
  EXPECT_EQ(doubles.cpu_diff()[0], 0.2);
  Blob<float> floats;
  floats.FromProto(proto);
  EXPECT_EQ(floats.cpu_data()[0], 0.1f);
}

TEST(BlobMessages, OfFourDimensionsWinOverTheShapeAndFitTheOneThatIsKept) {
  BlobProto proto = legacy(1, 1, 3, 2);
  proto.mutable_shape()->add_dim(6);
  Blob<float> blob({3, 2});
  blob.FromProto(proto, false);
  EXPECT_EQ(blob.shape(), (std::vector<int>{3, 2}));
  EXPECT_EQ(blob.cpu_data()[5], 5);
  blob.FromProto(proto);
  EXPECT_EQ(blob.shape(), (std::vector<int>{1, 1, 3, 2}));
  blob.Reshape({2, 3});
  EXPECT_THROW(blob.FromProto(proto, false), std::invalid_argument);
}

TEST(BlobMessages, HaveTheShapeOfABlobByTheirFourDimensionsOrTheirShape) {
  Blob<double> blob;
  const auto equals_legacy = [&blob](std::vector<int> shape, int num, int channels, int height, int width) {
    blob.Reshape(shape);
    return blob.ShapeEquals(legacy(num, channels, height, width));
  };
  // Missing axes are the leading ones, and each is 1.
  EXPECT_TRUE(equals_legacy({3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({3, 2}, 3, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({2, 3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({1, 1, 1, 3, 2}, 1, 1, 3, 2)) << "more than four axes";
  BlobProto proto = message({3, 2}, 0);
  blob.Reshape({3, 2});
  EXPECT_TRUE(blob.ShapeEquals(proto));
  blob.Reshape({1, 3, 2});
  EXPECT_FALSE(blob.ShapeEquals(proto));
  proto.set_width(6);
  EXPECT_FALSE(blob.ShapeEquals(proto)) << "legacy dims win over the shape";
}

TEST(BlobMessages, OfAReshapedBlobHaveItsElementsAlone) {
  Blob<float> blob({100});
  blob.Reshape({3});
  BlobProto proto;
  blob.ToProto(&proto, true);
  EXPECT_EQ(proto.data_size(), 3);
  blob.mutable_cpu_data()[50] = 8;
  proto.add_data(0);
  EXPECT_THROW(blob.FromProto(proto), std::invalid_argument);
  blob.ToProto(&proto);
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[50], 8) << "elements beyond the shape stay";
}

TEST(BlobMessages, FillABlobOfIntegers) {
  Blob<int> blob;
  blob.Reshape(message({2, 5}, 0).shape());
  EXPECT_EQ(blob.shape(), (std::vector<int>{2, 5}));
  blob.FromProto(message({2}, 2));
  EXPECT_EQ(blob.cpu_data()[1], 1);
}

TEST(BlobMessages, OfAnUnshapedBlobAreRefused) {
  BlobProto proto;
  proto.add_data(3);
  EXPECT_THROW(Blob<float>().ToProto(&proto), syncedmem::error);
  EXPECT_EQ(proto.data_size(), 1) << "the message is as it was";
}

// The fixed faults of Caffe's Blob (docs/blob.md).

TEST(BlobUnlikeCaffe, DimensionsOf64BitsAreNotNarrowed) {
  Blob<float> blob({2});
  EXPECT_THROW(blob.Reshape(message({(std::int64_t(1) << 32) + 3}, 0).shape()), std::invalid_argument);
  EXPECT_THROW(blob.FromProto(message({(std::int64_t(1) << 32) + 3}, 3)), std::invalid_argument);
  EXPECT_FALSE(blob.ShapeEquals(message({(std::int64_t(1) << 32) + 2}, 0)));
  EXPECT_EQ(blob.count(), 2);
}

TEST(BlobUnlikeCaffe, FromProtoReadsABlobOfNoElements) {
  Blob<float> blob;
  blob.FromProto(message({0, 5}, 0));
  EXPECT_EQ(blob.shape(), (std::vector<int>{0, 5}));
  BlobProto back;
  blob.ToProto(&back, true);
  EXPECT_EQ(back.shape().dim_size(), 2);
  EXPECT_EQ(back.data_size(), 0);
}

TEST(BlobUnlikeCaffe, FromProtoThatFailsChangesNothing) {
  Blob<float> blob({2});
  blob.mutable_cpu_data()[1] = 5;
  EXPECT_THROW(blob.FromProto(message({3}, 2)), std::invalid_argument);
  BlobProto of_three = message({3}, 3);
  of_three.add_diff(1);
  EXPECT_THROW(blob.FromProto(of_three), std::invalid_argument) << "one value of diff for three elements";
  EXPECT_THROW(blob.FromProto(message({3}, 3), false), std::invalid_argument);
  EXPECT_EQ(blob.count(), 2);
  EXPECT_EQ(blob.cpu_data()[1], 5);
}

TEST(BlobUnlikeCaffe, ToProtoLeavesNothingThatWinsWhenItIsRead) {
  BlobProto proto;
  proto.set_num(9);
  proto.set_width(9);
  proto.add_double_data(9);
  proto.add_double_diff(9);
  proto.add_diff(9);
  Blob<float> blob({2});
  blob.mutable_cpu_data()[1] = 5;
  blob.mutable_cpu_diff()[0] = 1;
  blob.ToProto(&proto);
  EXPECT_FALSE(proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width());
  EXPECT_EQ(proto.double_data_size() + proto.double_diff_size() + proto.diff_size(), 0);
  Blob<float> read;
  read.FromProto(proto);
  EXPECT_EQ(read.shape(), blob.shape());
  EXPECT_EQ(read.cpu_data()[1], 5);
}

TEST(BlobUnlikeCaffe, ToProtoOfDoublesLeavesNoFloats) {
  BlobProto proto = message({7}, 7);
  proto.add_diff(1);
  Blob<double> blob({2});
  blob.mutable_cpu_data()[1] = 0.1;
  blob.ToProto(&proto, true);
  EXPECT_EQ(proto.data_size() + proto.diff_size(), 0);
  EXPECT_EQ(proto.double_data_size(), 2);
  EXPECT_EQ(proto.double_diff_size(), 2);
  EXPECT_EQ(proto.double_data(1), 0.1);
}

}  // namespace
