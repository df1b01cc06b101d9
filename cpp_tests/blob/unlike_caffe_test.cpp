// The faults of Caffe's Blob that are mended (docs/blob.md), where the class has a part in it; the others: tests/blob.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "blob/messages.hpp"
#include "syncedmem/blob.hpp"

namespace {

using messages::BlobProto;
using syncedmem::Blob;

/// A message with `count` values 0, 1, 2, … and this shape.
BlobProto message(const std::vector<std::int64_t>& shape, int count) {
  BlobProto proto;
  for (const std::int64_t dim : shape) proto.mutable_shape()->add_dim(dim);
  for (int i = 0; i < count; ++i) proto.add_data(static_cast<float>(i));
  return proto;
}

TEST(BlobUnlikeCaffe, ReshapeThatFailsChangesNothing) {
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

TEST(BlobUnlikeCaffe, DimensionsOf64BitsAreNotNarrowed) {
  Blob<float> blob({2});
  messages::BlobShape shape;
  shape.add_dim((std::int64_t(1) << 32) + 3);
  EXPECT_THROW(blob.Reshape(shape), std::invalid_argument);
  EXPECT_THROW(blob.FromProto(message({(std::int64_t(1) << 32) + 3}, 3)), std::invalid_argument);
  EXPECT_FALSE(blob.ShapeEquals(message({(std::int64_t(1) << 32) + 2}, 0)));
  EXPECT_EQ(blob.count(), 2);
}

TEST(BlobUnlikeCaffe, DataAtDoesNotReadPastTheEnd) {
  const Blob<float> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.offset(2, 0, 0, 0), 120);
  EXPECT_THROW(blob.data_at(2, 0, 0, 0), std::invalid_argument);
  EXPECT_THROW(blob.diff_at(1, 3, 0, 0), std::invalid_argument);
  EXPECT_THROW(Blob<float>({0}).data_at(std::vector<int>()), std::invalid_argument);
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
  Blob<float> blob({2});
  blob.mutable_cpu_data()[1] = 5;
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
