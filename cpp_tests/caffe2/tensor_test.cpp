// The C++ class over the C API's tensors: dimensions, constructors, types, deleters and exceptions. tests/caffe2 has the rules of
// memory and items.
#include <algorithm>
#include <climits>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;
using std::vector;

using Dims = vector<TIndex>;

class TensorTest : public testing::Test {
 protected:
  void TearDown() override {
    FLAGS_caffe2_keep_on_shrink = true;
    FLAGS_caffe2_max_keep_on_shrink_memory = LLONG_MAX;
  }
  CPUContext context_;
};

TensorCPU counting(const Dims& dims) {
  TensorCPU tensor(dims);
  int* const items = tensor.mutable_data<int>();
  std::iota(items, items + tensor.size(), 0);
  return tensor;
}

TEST_F(TensorTest, DescribesItsShape) {
  const TensorCPU tensor = counting({2, 3, 5, 7});
  EXPECT_EQ(tensor.ndim(), 4);
  EXPECT_EQ(tensor.size(), 210);
  EXPECT_EQ(tensor.itemsize(), sizeof(int));
  EXPECT_EQ(tensor.nbytes(), 210 * sizeof(int));
  EXPECT_EQ(tensor.dims(), (Dims{2, 3, 5, 7}));
  EXPECT_EQ(tensor.size_from_dim(2), 35);
  EXPECT_EQ(tensor.size_to_dim(2), 6);
  EXPECT_EQ(tensor.size_to_dim(4), 210);
  EXPECT_EQ(tensor.size_between_dim(0, 3), 15);
  EXPECT_EQ(tensor.size_between_dim(3, 0), 15);
  EXPECT_EQ(tensor.canonical_axis_index(-1), 3);
  EXPECT_EQ(tensor.canonical_axis_index(0), 0);
  EXPECT_THROW(tensor.canonical_axis_index(4), EnforceNotMet);
  EXPECT_THROW(tensor.canonical_axis_index(-5), EnforceNotMet);
  EXPECT_THROW(tensor.dim(4), EnforceNotMet);
  EXPECT_THROW(tensor.dim(-1), EnforceNotMet);
  EXPECT_EQ(tensor.DebugString(), "A Tensor of item size 4 and type int and dimension (2,3,5,7,).");
}

TEST_F(TensorTest, IsMadeOfValues) {
  TensorCPU tensor(Dims{2, 2}, vector<float>{1, 2, 3, 4}, &context_);
  EXPECT_EQ(tensor.data<float>()[3], 4);
  TensorCPU scalar(2.5, &context_);
  EXPECT_EQ(scalar.ndim(), 0);
  EXPECT_EQ(*scalar.data<double>(), 2.5);
  EXPECT_THROW(TensorCPU(Dims{3}, vector<float>{1}, &context_), EnforceNotMet);
}

TEST_F(TensorTest, ItsCopyHasItemsOfItsOwnAndWhatItMovesFromHasNone) {
  TensorCPU tensor(vector<int>{2, 3});
  for (int at = 0; at < 6; ++at) tensor.mutable_data<std::string>()[at] = "filled, and too long to be inside of its object";
  TensorCPU copy(tensor), other(tensor, &context_), same;
  same.CopyFrom(tensor, &context_);
  for (const TensorCPU* one : {&copy, &other, &same}) {
    EXPECT_EQ(one->data<std::string>()[5], "filled, and too long to be inside of its object");
    EXPECT_NE(one->raw_data(), tensor.raw_data());
  }
  const void* const items = tensor.raw_data();
  const TensorCPU moved(std::move(tensor));
  EXPECT_EQ(moved.raw_data(), items);
  EXPECT_EQ(tensor.size(), -1);
}

TEST_F(TensorTest, ChangesItsTypeWithTheDataThatIsAskedFor) {
  TensorCPU tensor(vector<int>{2, 3, 5});
  void* const memory = tensor.mutable_data<int>();
  EXPECT_TRUE(tensor.meta().Match<int>() && tensor.IsType<int>());
  EXPECT_EQ(tensor.mutable_data<float16>(), memory);
  EXPECT_TRUE(tensor.IsType<float16>() && !tensor.IsType<int>());
  EXPECT_THROW(tensor.data<int>(), EnforceNotMet);
  EXPECT_EQ(tensor.raw_mutable_data(), memory);
  EXPECT_EQ(tensor.raw_mutable_data(TypeMeta::Make<float>()), memory);
  EXPECT_EQ(tensor.data<float>(), memory);
  const TensorCPU empty;
  EXPECT_THROW(empty.raw_data(), EnforceNotMet);
  EXPECT_THROW(empty.data<int>(), EnforceNotMet);
  TensorCPU none(vector<int>{2, 0, 5});
  EXPECT_EQ(none.mutable_data<char>(), nullptr);
}

TEST_F(TensorTest, SharesMemoryOfATensorAndOfTheCaller) {
  TensorCPU tensor = counting({2, 3}), flat(vector<int>{6});
  flat.ShareData(tensor);
  tensor.mutable_data<int>()[5] = 8;
  EXPECT_EQ(flat.data<int>()[5], 8);
  int memory[6] = {0, 1, 2, 3, 4, 5};
  tensor.ShareExternalPointer(memory);
  EXPECT_EQ(tensor.data<int>(), memory);
  tensor.ShareExternalPointer(static_cast<void*>(memory), TypeMeta::Make<int>());
  EXPECT_EQ(tensor.mutable_data<int>(), memory);
  EXPECT_EQ(flat.data<int>()[5], 8);
  EXPECT_THROW(TensorCPU().ShareExternalPointer(memory), EnforceNotMet);
}

TEST_F(TensorTest, FlagsSayWhatAnotherShapeKeeps) {
  TensorCPU tensor = counting({1, 8, 8});
  const void* const memory = tensor.raw_data();
  tensor.Resize(1, 1, 8);
  EXPECT_EQ(tensor.mutable_data<int>(), memory);
  FLAGS_caffe2_max_keep_on_shrink_memory = 8;
  tensor.Resize(1, 1, 7);
  EXPECT_EQ(tensor.capacity_nbytes(), 0u);
  FLAGS_caffe2_max_keep_on_shrink_memory = LLONG_MAX;
  FLAGS_caffe2_keep_on_shrink = false;
  tensor.mutable_data<int>();
  tensor.Resize(vector<int>{6});
  EXPECT_EQ(tensor.capacity_nbytes(), 0u);
}

TEST_F(TensorTest, DimensionsHave64Bits) {
  const TIndex large = static_cast<TIndex>(std::numeric_limits<int>::max()) + 1;
  TensorCPU tensor(Dims{large});
  // 2 GiB of pages that are never written take no memory.
  EXPECT_NE(tensor.mutable_data<char>(), nullptr);
  EXPECT_EQ(tensor.nbytes(), static_cast<std::size_t>(large));
  EXPECT_EQ(tensor.dim(0), large);
  EXPECT_THROW(tensor.dim32(0), EnforceNotMet);
  tensor.Resize(large, 100);
  EXPECT_EQ(tensor.dim32(1), 100);
  EXPECT_EQ(tensor.size(), large * 100);
}

TEST_F(TensorTest, ExternalMemoryIsGivenToItsDeleterOnce) {
  int calls = 0;
  float memory[8] = {};
  {
    TensorCPU tensor(Dims{4});
    tensor.ShareExternalPointer(memory, sizeof memory, [&calls, &memory](void* pointer) {
      EXPECT_EQ(pointer, memory);
      ++calls;
    });
    EXPECT_EQ(tensor.capacity_nbytes(), sizeof memory);
    EXPECT_TRUE(tensor.shares_data());
    TensorCPU other(Dims{4});
    other.ShareData(tensor);
    tensor.FreeMemory();
    EXPECT_FALSE(tensor.shares_data());
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(other.data<float>(), memory);
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(TensorTest, ANumberOfItemsIsTakenForACapacityOfThemAll) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  TensorCPU tensor(Dims{2, 3});
  // Caffe2's recurrent_network_op.h passes this.
  tensor.ShareExternalPointer(memory, tensor.size());
  EXPECT_EQ(tensor.data<float>()[5], 5);
  EXPECT_EQ(tensor.capacity_nbytes(), sizeof memory);
  tensor.ShareExternalPointer(memory, sizeof memory - 1);
  EXPECT_EQ(tensor.capacity_nbytes(), sizeof memory);
  // This is neither the items' bytes nor their number.
  EXPECT_THROW(tensor.ShareExternalPointer(memory, 5), EnforceNotMet);
}

TEST_F(TensorTest, APrinterShowsShapeAndItemsUpToALimit) {
  testing::internal::CaptureStderr();
  TensorPrinter printer("rows", "", 2);
  printer.Print<int>(counting({3}));
  printer.PrintMeta(counting({1, 2}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "Tensor rows of type int. Dims: (3,): 0,1\nTensor rows of type int. Dims: (1,2,): \n");
  EXPECT_THROW(TensorPrinter("rows", "/nonexistent/file"), EnforceNotMet);
}

TEST_F(TensorTest, DimsAreThoseOfNowAfterEveryChange) {
  TensorCPU tensor, other(Dims{9});
  const Dims& dims = tensor.dims();
  EXPECT_EQ(dims, Dims());
  tensor.Resize(4, 3);
  EXPECT_EQ(tensor.dims(), (Dims{4, 3}));
  tensor.mutable_data<int>();
  tensor.Reshape(Dims{6, 2});
  EXPECT_EQ(tensor.dims(), (Dims{6, 2}));
  tensor.Shrink(5);
  EXPECT_EQ(tensor.dims(), (Dims{5, 2}));
  tensor.Extend(2, 0, &context_);
  EXPECT_EQ(tensor.dims(), (Dims{7, 2}));
  tensor.Reserve(vector<int>{50, 2}, &context_);
  EXPECT_EQ(tensor.capacity_nbytes(), 100 * sizeof(int));
  tensor.Reshape(vector<int>{14});
  EXPECT_EQ(tensor.dims(), (Dims{14}));
  tensor.ResizeLike(counting({5, 1}));
  EXPECT_EQ(tensor.dims(), (Dims{5, 1}));
  tensor.CopyFrom(counting({3}));
  EXPECT_EQ(tensor.dims(), (Dims{3}));
  EXPECT_EQ(other.dims(), (Dims{9}));
  tensor.swap(other);
  EXPECT_EQ(tensor.dims(), (Dims{9}));
  EXPECT_EQ(other.dims(), (Dims{3}));
  // Code written for Caffe2 expects one vector for a tensor's life.
  EXPECT_EQ(&tensor.dims(), &dims);
}

TEST_F(TensorTest, AConstructorThatThrowsChangesNothing) {
  TensorCPU tensor = counting({4});
  Throwing::left = 3;
  EXPECT_THROW(tensor.mutable_data<Throwing>(), std::runtime_error);
  EXPECT_EQ(Throwing::alive, 0);
  EXPECT_EQ(tensor.data<int>()[3], 3);
}

TEST_F(TensorTest, AnAssignmentThatThrowsIsTheCallersException) {
  Throwing::left = 1000;
  TensorCPU source(Dims{2}), tensor;
  source.mutable_data<Throwing>()[1].refuses = true;
  EXPECT_EQ(sentence_of<std::runtime_error>([&] { tensor.CopyFrom(source); }), "this one is not copied");
}

TEST_F(TensorTest, ItemsThatCannotBeAssignedAreNotCopied) {
  TensorCPU source(Dims{2}), tensor;
  source.mutable_data<std::unique_ptr<int>>();
  EXPECT_THROW(tensor.CopyFrom(source), EnforceNotMet);
}

// This fails with Caffe2 itself.
TEST_F(TensorTest, ReserveOfItemsThatThrowKeepsTheItems) {
  Throwing::left = 1000;
  TensorCPU tensor(Dims{2});
  tensor.mutable_data<Throwing>()[1].refuses = true;
  EXPECT_THROW(tensor.Reserve(Dims{5}, &context_), std::runtime_error);
  EXPECT_TRUE(tensor.data<Throwing>()[1].refuses);
  EXPECT_EQ(Throwing::alive, 2);
}

}  // namespace
