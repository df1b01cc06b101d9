// The tensor's tests of Caffe2 v0.8.1 and its last commits, by their names.
#include <climits>
#include <limits>
#include <memory>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using std::vector;

const vector<int> k2x3x5 = {2, 3, 5};

template <typename T>
class TensorCPUTest : public testing::Test {
 protected:
  void TearDown() override {
    FLAGS_caffe2_keep_on_shrink = true;
    FLAGS_caffe2_max_keep_on_shrink_memory = LLONG_MAX;
  }

  static void expect_dims(const TensorCPU& tensor, const vector<int>& dims) {
    ASSERT_EQ(tensor.ndim(), static_cast<int>(dims.size()));
    for (int axis = 0; axis < tensor.ndim(); ++axis) EXPECT_EQ(tensor.dim32(axis), dims[axis]);
  }
  static void expect_memory(TensorCPU* tensor) {
    EXPECT_NE(tensor->mutable_data<T>(), nullptr);
    EXPECT_NE(tensor->data<T>(), nullptr);
  }
  /// What is written by one of them is read by the other.
  static void expect_one_memory(TensorCPU* written, const TensorCPU& read) {
    ASSERT_EQ(written->template data<T>(), read.data<T>());
    for (int at = 0; at < written->size(); ++at) {
      written->template mutable_data<T>()[at] = static_cast<T>(at);
      EXPECT_EQ(read.data<T>()[at], static_cast<T>(at));
    }
  }
};

template <typename T>
class TensorCPUDeathTest : public testing::Test {};

using TensorTypes = testing::Types<char, int, float>;
TYPED_TEST_SUITE(TensorCPUTest, TensorTypes);
TYPED_TEST_SUITE(TensorCPUDeathTest, TensorTypes);

TYPED_TEST(TensorCPUTest, TensorInitializedEmpty) {
  TensorCPU tensor;
  EXPECT_EQ(tensor.ndim(), 0);
  EXPECT_EQ(tensor.size(), -1);
  tensor.Resize(k2x3x5);
  this->expect_dims(tensor, k2x3x5);
  EXPECT_EQ(tensor.size(), 2 * 3 * 5);
  this->expect_memory(&tensor);
}

TYPED_TEST(TensorCPUTest, TensorInitializedNonEmpty) {
  TensorCPU tensor(k2x3x5);
  this->expect_dims(tensor, k2x3x5);
  this->expect_memory(&tensor);
  const vector<int> larger = {7, 11, 13, 17};
  tensor.Resize(larger);
  this->expect_dims(tensor, larger);
  this->expect_memory(&tensor);
}

TYPED_TEST(TensorCPUTest, TensorInitializedZeroDim) {
  const vector<int> none = {2, 0, 5};
  TensorCPU tensor(none);
  this->expect_dims(tensor, none);
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), nullptr);
  EXPECT_EQ(tensor.template data<TypeParam>(), nullptr);
}

TYPED_TEST(TensorCPUTest, TensorResizeZeroDim) {
  TensorCPU tensor(k2x3x5);
  this->expect_memory(&tensor);
  const vector<int> none = {7, 0, 13};
  tensor.Resize(none);
  EXPECT_EQ(tensor.size(), 0);
  this->expect_dims(tensor, none);
  EXPECT_NO_THROW(tensor.template mutable_data<TypeParam>());
  EXPECT_NO_THROW(tensor.template data<TypeParam>());
}

TYPED_TEST(TensorCPUTest, TensorInitializedScalar) {
  TensorCPU tensor((vector<int>()));
  EXPECT_EQ(tensor.ndim(), 0);
  EXPECT_EQ(tensor.size(), 1);
  this->expect_memory(&tensor);
}

TYPED_TEST(TensorCPUTest, TensorShareData) {
  TensorCPU tensor(k2x3x5), other(k2x3x5);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), nullptr);
  other.ShareData(tensor);
  this->expect_one_memory(&tensor, other);
}

TYPED_TEST(TensorCPUTest, TensorShareDataRawPointer) {
  std::unique_ptr<TypeParam[]> raw(new TypeParam[2 * 3 * 5]);
  TensorCPU tensor(k2x3x5);
  tensor.ShareExternalPointer(raw.get());
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), raw.get());
  EXPECT_EQ(tensor.template data<TypeParam>(), raw.get());
  for (int at = 0; at < tensor.size(); ++at) {
    raw[at] = static_cast<TypeParam>(at);
    EXPECT_EQ(tensor.template data<TypeParam>()[at], static_cast<TypeParam>(at));
  }
}

TYPED_TEST(TensorCPUTest, TensorShareDataRawPointerWithMeta) {
  std::unique_ptr<TypeParam[]> raw(new TypeParam[2 * 3 * 5]());
  TensorCPU tensor(k2x3x5);
  tensor.ShareExternalPointer(raw.get(), TypeMeta::Make<TypeParam>());
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), raw.get());
  raw[29] = static_cast<TypeParam>(3);
  EXPECT_EQ(tensor.template data<TypeParam>()[29], static_cast<TypeParam>(3));
}

TYPED_TEST(TensorCPUTest, CannotShareDataWhenShapeNotSet) {
  std::unique_ptr<TypeParam[]> raw(new TypeParam[10]);
  TensorCPU tensor;
  EXPECT_THROW(tensor.ShareExternalPointer(raw.get()), EnforceNotMet);
}

TYPED_TEST(TensorCPUTest, TensorShareDataCanUseDifferentShapes) {
  TensorCPU tensor(k2x3x5), flat(vector<int>{2 * 3 * 5});
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), nullptr);
  flat.ShareData(tensor);
  this->expect_dims(flat, {2 * 3 * 5});
  this->expect_one_memory(&tensor, flat);
}

TYPED_TEST(TensorCPUTest, NoLongerSharesAfterResize) {
  TensorCPU tensor(k2x3x5), other(k2x3x5);
  tensor.template mutable_data<TypeParam>();
  other.ShareData(tensor);
  const TypeParam* shared = other.template data<TypeParam>();
  EXPECT_EQ(tensor.template data<TypeParam>(), shared);
  tensor.Resize(vector<int>{7, 3, 5});
  EXPECT_EQ(other.template data<TypeParam>(), shared);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), shared);
}

TYPED_TEST(TensorCPUTest, NoLongerSharesAfterFreeMemory) {
  TensorCPU tensor(k2x3x5), other(k2x3x5);
  tensor.template mutable_data<TypeParam>();
  other.ShareData(tensor);
  const TypeParam* shared = other.template data<TypeParam>();
  tensor.FreeMemory();
  EXPECT_EQ(other.template data<TypeParam>(), shared);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), shared);
}

TYPED_TEST(TensorCPUTest, KeepOnShrink) {
  TensorCPU tensor(k2x3x5);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), nullptr);
  tensor.Resize(3, 4, 6);
  const TypeParam* largest = tensor.template mutable_data<TypeParam>();
  EXPECT_NE(largest, nullptr);
  tensor.Resize(1, 2, 4);
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), largest);
  tensor.Resize(3, 0, 6);
  tensor.Resize(2, 3, 5);
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), largest);
}

TYPED_TEST(TensorCPUTest, MaxKeepOnShrink) {
  FLAGS_caffe2_max_keep_on_shrink_memory = 8 * 4 * sizeof(TypeParam);
  TensorCPU tensor(vector<int>{1, 8, 8});
  const TypeParam* first = tensor.template mutable_data<TypeParam>();
  tensor.Resize(1, 7, 8);
  EXPECT_EQ(tensor.template mutable_data<TypeParam>(), first);
  tensor.Resize(1, 1, 8);
  EXPECT_EQ(tensor.capacity_nbytes(), 0u);
  EXPECT_NE(tensor.template mutable_data<TypeParam>(), nullptr);
  EXPECT_EQ(tensor.capacity_nbytes(), 8 * sizeof(TypeParam));
}

TYPED_TEST(TensorCPUDeathTest, CannotAccessRawDataWhenEmpty) {
  TensorCPU tensor;
  EXPECT_EQ(tensor.ndim(), 0);
  EXPECT_THROW(tensor.raw_data(), EnforceNotMet);
}

TYPED_TEST(TensorCPUDeathTest, CannotAccessDataWhenEmpty) {
  TensorCPU tensor;
  EXPECT_EQ(tensor.ndim(), 0);
  EXPECT_THROW(tensor.template data<TypeParam>(), EnforceNotMet);
}

TEST(TensorNonTypedTest, TensorChangeType) {
  TensorCPU tensor(k2x3x5);
  void* memory = tensor.mutable_data<int>();
  EXPECT_NE(memory, nullptr);
  EXPECT_TRUE(tensor.meta().Match<int>());
  // Types of the same size, or smaller, keep the memory.
  EXPECT_EQ(tensor.mutable_data<float>(), memory);
  EXPECT_EQ(tensor.data<float>(), memory);
  EXPECT_TRUE(tensor.meta().Match<float>());
  EXPECT_EQ(tensor.mutable_data<float16>(), memory);
  EXPECT_EQ(tensor.data<float16>(), memory);
  EXPECT_TRUE(tensor.meta().Match<float16>());
  // Another tensor holds the memory: its address is not used again.
  TensorCPU other(k2x3x5);
  other.ShareData(tensor);
  EXPECT_NE(tensor.mutable_data<double>(), memory);
  EXPECT_NE(tensor.data<double>(), nullptr);
  EXPECT_TRUE(tensor.meta().Match<double>());
}

TEST(TensorTest, TensorNonFundamentalType) {
  TensorCPU tensor(vector<int>{2, 3, 4});
  EXPECT_NE(tensor.mutable_data<std::string>(), nullptr);
  for (int at = 0; at < tensor.size(); ++at) EXPECT_EQ(tensor.data<std::string>()[at], "");
}

TEST(TensorTest, TensorNonFundamentalTypeCopy) {
  TensorCPU tensor(vector<int>{2, 3, 4});
  for (int at = 0; at < tensor.size(); ++at) tensor.mutable_data<std::string>()[at] = "filled, and too long to be inside";
  TensorCPU copy(tensor);
  for (int at = 0; at < copy.size(); ++at) EXPECT_EQ(copy.data<std::string>()[at], "filled, and too long to be inside");
  EXPECT_NE(copy.raw_data(), tensor.raw_data());
}

TEST(TensorTest, Tensor64BitDimension) {
  const TIndex large = static_cast<TIndex>(std::numeric_limits<int>::max()) + 1;
  TensorCPU tensor(vector<TIndex>{large});
  EXPECT_EQ(tensor.ndim(), 1);
  EXPECT_EQ(tensor.dim(0), large);
  EXPECT_EQ(tensor.size(), large);
  // 2 GiB of pages that are never written: they take no memory.
  EXPECT_NE(tensor.mutable_data<char>(), nullptr);
  EXPECT_EQ(tensor.nbytes(), static_cast<size_t>(large));
  EXPECT_EQ(tensor.itemsize(), sizeof(char));
  tensor.Resize(large, 100);
  EXPECT_EQ(tensor.ndim(), 2);
  EXPECT_EQ(tensor.dim(0), large);
  EXPECT_EQ(tensor.dim(1), 100);
  EXPECT_EQ(tensor.size(), large * 100);
}

TEST(TensorDeathTest, CannotCastDownLargeDims) {
  const TIndex large = static_cast<TIndex>(std::numeric_limits<int>::max()) + 1;
  TensorCPU tensor(vector<TIndex>{large});
  EXPECT_EQ(tensor.dim(0), large);
  EXPECT_THROW(tensor.dim32(0), EnforceNotMet);
}

}  // namespace
