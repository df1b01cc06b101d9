// FromProto and ToProto with messages written by hand: which fields win, and in which type values go.
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "blob/messages.hpp"
#include "syncedmem/blob.hpp"

namespace {

using messages::BlobProto;
using syncedmem::Blob;

TEST(BlobMessages, GoThereAndBack) {
  Blob<float> blob({2, 3});
  for (int i = 0; i < 6; ++i) {
    blob.mutable_cpu_data()[i] = static_cast<float>(i) / 7;
    blob.mutable_cpu_diff()[i] = static_cast<float>(-i);
  }
  BlobProto proto;
  blob.ToProto(&proto, true);
  Blob<float> read;
  read.FromProto(proto);
  EXPECT_EQ(read.shape(), blob.shape());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(read.cpu_data()[i], blob.cpu_data()[i]);
    EXPECT_EQ(read.cpu_diff()[i], blob.cpu_diff()[i]);
  }
}

TEST(BlobMessages, HaveTheDiffOnlyIfItIsAsked) {
  Blob<float> blob({2});
  blob.mutable_cpu_diff()[0] = 1;
  BlobProto proto;
  proto.add_diff(9);
  blob.ToProto(&proto);
  EXPECT_EQ(proto.data_size(), 2);
  EXPECT_EQ(proto.diff_size(), 0);
}

TEST(BlobMessages, WithoutADiffLeaveTheDiffAlone) {
  Blob<float> blob({1});
  blob.mutable_cpu_diff()[0] = 4;
  BlobProto proto;
  proto.mutable_shape()->add_dim(1);
  proto.add_data(2);
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[0], 2);
  EXPECT_EQ(blob.cpu_diff()[0], 4);
}

TEST(BlobMessages, OfDoublesWinOverThoseOfFloats) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(1);
  proto.add_data(1);
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

TEST(BlobMessages, OfFourDimensionsWinOverTheShape) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(6);
  proto.set_num(1);
  proto.set_channels(1);
  proto.set_height(3);
  proto.set_width(2);
  for (int i = 0; i < 6; ++i) proto.add_data(static_cast<float>(i));
  Blob<float> blob;
  blob.FromProto(proto);
  EXPECT_EQ(blob.shape(), (std::vector<int>{1, 1, 3, 2}));
}

TEST(BlobMessages, HaveTheShapeOfABlobByTheirFourDimensionsOrTheirShape) {
  Blob<double> blob;
  const auto equals_legacy = [&blob](std::vector<int> shape, int num, int channels, int height, int width) {
    BlobProto proto;
    proto.set_num(num);
    proto.set_channels(channels);
    proto.set_height(height);
    proto.set_width(width);
    blob.Reshape(shape);
    return blob.ShapeEquals(proto);
  };
  // Missing axes are the leading ones, and each is 1.
  EXPECT_TRUE(equals_legacy({3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({3, 2}, 3, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({2, 3, 2}, 1, 1, 3, 2));
  EXPECT_FALSE(equals_legacy({1, 1, 1, 3, 2}, 1, 1, 3, 2)) << "more than four axes";
  BlobProto proto;
  proto.mutable_shape()->add_dim(3);
  proto.mutable_shape()->add_dim(2);
  blob.Reshape({3, 2});
  EXPECT_TRUE(blob.ShapeEquals(proto));
  blob.Reshape({1, 3, 2});
  EXPECT_FALSE(blob.ShapeEquals(proto));
  proto.set_width(6);
  EXPECT_FALSE(blob.ShapeEquals(proto)) << "legacy dims win over the shape";
}

TEST(BlobMessages, FitTheShapeThatIsKept) {
  BlobProto proto;
  proto.set_num(1);
  proto.set_channels(1);
  proto.set_height(3);
  proto.set_width(2);
  for (int i = 0; i < 6; ++i) proto.add_data(static_cast<float>(i));
  Blob<float> blob({3, 2});
  blob.FromProto(proto, false);
  EXPECT_EQ(blob.shape(), (std::vector<int>{3, 2}));
  EXPECT_EQ(blob.cpu_data()[5], 5);
  blob.Reshape({2, 3});
  EXPECT_THROW(blob.FromProto(proto, false), std::invalid_argument);
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
  BlobProto proto;
  proto.mutable_shape()->add_dim(2);
  proto.add_data(3);
  proto.add_data(-4);
  Blob<int> blob;
  blob.FromProto(proto);
  EXPECT_EQ(blob.cpu_data()[1], -4);
}

TEST(BlobMessages, OfAnUnshapedBlobAreRefused) {
  BlobProto proto;
  proto.add_data(3);
  EXPECT_THROW(Blob<float>().ToProto(&proto), syncedmem::error);
  EXPECT_EQ(proto.data_size(), 1) << "the message is as it was";
}

}  // namespace
