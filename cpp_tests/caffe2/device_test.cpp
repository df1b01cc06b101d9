// Tensors of the device: the tests of Caffe2 by their names, and copies between the sides.
#include <memory>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using std::vector;

const vector<int> k2x3x5 = {2, 3, 5};

template <typename T>
class TensorGPUTest : public testing::Test {
 protected:
  static void expect_dims(const TensorCUDA& tensor, const vector<int>& dims) {
    ASSERT_EQ(tensor.ndim(), static_cast<int>(dims.size()));
    for (int axis = 0; axis < tensor.ndim(); ++axis) EXPECT_EQ(tensor.dim32(axis), dims[axis]);
  }
  static void expect_memory(TensorCUDA* tensor) {
    EXPECT_NE(tensor->mutable_data<T>(), nullptr);
    EXPECT_NE(tensor->data<T>(), nullptr);
  }
};
template <typename T>
class TensorGPUDeathTest : public testing::Test {};

using TensorTypes = testing::Types<char, int, float>;
TYPED_TEST_SUITE(TensorGPUTest, TensorTypes);
TYPED_TEST_SUITE(TensorGPUDeathTest, TensorTypes);

TYPED_TEST(TensorGPUTest, TensorInitializedEmpty) {
  TensorCUDA tensor;
  EXPECT_EQ(tensor.ndim(), 0);
  tensor.Resize(k2x3x5);
  this->expect_dims(tensor, k2x3x5);
  this->expect_memory(&tensor);
}

TYPED_TEST(TensorGPUTest, TensorInitializedNonEmpty) {
  TensorCUDA tensor(k2x3x5);
  this->expect_dims(tensor, k2x3x5);
  this->expect_memory(&tensor);
  const vector<int> larger = {7, 11, 13, 17};
  tensor.Resize(larger);
  this->expect_dims(tensor, larger);
  this->expect_memory(&tensor);
}

TYPED_TEST(TensorGPUTest, TensorShareData) {
  TensorCUDA tensor(k2x3x5), other(k2x3x5);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), nullptr);
  other.ShareData(tensor);
  EXPECT_NE(other.template data<TypeParam>(), nullptr);
  EXPECT_EQ(tensor.template data<TypeParam>(), other.template data<TypeParam>());
}

TYPED_TEST(TensorGPUTest, TensorShareDataCanUseDifferentShapes) {
  TensorCUDA tensor(k2x3x5), flat(vector<int>{2 * 3 * 5});
  tensor.template mutable_data<TypeParam>();
  flat.ShareData(tensor);
  this->expect_dims(flat, {2 * 3 * 5});
  EXPECT_NE(flat.template data<TypeParam>(), nullptr);
  EXPECT_EQ(tensor.template data<TypeParam>(), flat.template data<TypeParam>());
}

TYPED_TEST(TensorGPUTest, NoLongerSharesAfterResize) {
  TensorCUDA tensor(k2x3x5), other(k2x3x5);
  tensor.template mutable_data<TypeParam>();
  other.ShareData(tensor);
  const TypeParam* shared = other.template data<TypeParam>();
  tensor.Resize(vector<int>{7, 3, 5});
  EXPECT_EQ(other.template data<TypeParam>(), shared);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), shared);
}

TYPED_TEST(TensorGPUDeathTest, CannotAccessDataWhenEmpty) {
  TensorCUDA tensor;
  EXPECT_EQ(tensor.ndim(), 0);
  EXPECT_THROW(tensor.template data<TypeParam>(), EnforceNotMet);
}

TEST(CUDAContextTest, TestAllocDealloc) {
  CUDAContext context(0);
  context.SwitchToDevice();
  auto data = CUDAContext::New(10 * sizeof(float));
  EXPECT_NE(data.first, nullptr);
  data.second(data.first);
}

TEST(CUDAContextTest, CopiesBytesBetweenTheSides) {
  const int written[4] = {1, 2, 3, 4};
  int read[4] = {};
  auto first = CUDAContext::New(sizeof written), second = CUDAContext::New(sizeof written);
  CUDAContext context;
  CPUContext host;
  context.CopyBytes<CPUContext, CUDAContext>(sizeof written, written, first.first);
  context.CopyBytes<CUDAContext, CUDAContext>(sizeof written, first.first, second.first);
  host.CopyBytes<CUDAContext, CPUContext>(sizeof written, second.first, read);
  EXPECT_EQ(read[3], 4);
  first.second(first.first);
  second.second(second.first);
}

TEST(TensorGPURules, IsCopiedToTheDeviceAndBack) {
  TensorCPU host(vector<int>{2, 3});
  for (int at = 0; at < 6; ++at) host.mutable_data<float>()[at] = static_cast<float>(at);
  CUDAContext context;
  TensorCUDA device(host, &context);
  EXPECT_EQ(device.dims(), host.dims());
  EXPECT_TRUE(device.IsType<float>());
  TensorCUDA second;
  second.CopyFrom(device);
  TensorCPU back(second);
  EXPECT_EQ(back.data<float>()[5], 5.0f);
}

}  // namespace
