// Blob: types, ownership and exceptions of C++. tests/caffe2/workspace_rules.rs has the rules of blobs.
#include <memory>
#include <type_traits>
#include <utility>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;

static_assert(!std::is_copy_constructible<Blob>::value && !std::is_copy_assignable<Blob>::value, "");
static_assert(std::is_nothrow_move_constructible<Blob>::value && std::is_nothrow_move_assignable<Blob>::value, "");

class Foo {};
class Bar {};

TEST(BlobTest, HoldsOneValueOfAnyType) {
  Blob blob;
  EXPECT_THROW(blob.Get<int>(), EnforceNotMet);
  bool is_new = false;
  EXPECT_NE(blob.GetMutable<int>(&is_new), nullptr);
  EXPECT_TRUE(is_new && blob.IsType<int>() && !blob.IsType<Foo>());
  blob.GetMutable<Foo>(&is_new);
  EXPECT_TRUE(is_new && blob.IsType<Foo>() && !blob.IsType<int>());
  Foo* const foo = blob.GetMutable<Foo>(&is_new);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(&blob.Get<Foo>(), foo);
  EXPECT_EQ(blob.GetRaw(), foo);
  const std::string sentence = sentence_of<EnforceNotMet>([&] { blob.Get<Bar>(); });
  EXPECT_TRUE(contains(sentence, "Foo") && contains(sentence, "Bar")) << sentence;
  blob.Reset();
  EXPECT_FALSE(blob.IsType<Foo>());
  EXPECT_EQ(blob.GetRaw(), nullptr);
}

TEST(BlobTest, MovesItsValueAndEndsTheOldOne) {
  const int before = Counted::alive;
  Blob first, second;
  Foo* const foo = first.Reset(new Foo());
  second.GetMutable<Counted>();
  second = std::move(first);
  EXPECT_EQ(Counted::alive, before);
  EXPECT_THROW(first.Get<Foo>(), EnforceNotMet);
  EXPECT_EQ(&second.Get<Foo>(), foo);
  Blob third(std::move(second));
  EXPECT_EQ(&third.Get<Foo>(), foo);
}

TEST(BlobTest, OwnsWhatResetGivesItAndNotWhatItShares) {
  const int before = Counted::alive;
  Counted outside;
  {
    Blob blob;
    blob.Reset(new Counted());
    EXPECT_EQ(Counted::alive, before + 2);
    blob.ShareExternal<Counted>(&outside);
    EXPECT_EQ(Counted::alive, before + 1);
    blob.GetMutable<Counted>()->value = 11;
  }
  EXPECT_EQ(Counted::alive, before + 1);
  EXPECT_EQ(outside.value, 11);
}

TEST(BlobTest, NamesItsType) {
  Blob blob;
  EXPECT_STREQ(blob.TypeName(), "nullptr (uninitialized)");
  blob.GetMutable<int>();
  EXPECT_STREQ(blob.TypeName(), "int");
  EXPECT_EQ(blob.meta(), TypeMeta::Make<int>());
}

TEST(BlobTest, SwapsItsValueWithAnother) {
  Blob number, text;
  *number.GetMutable<int>() = 3;
  *text.GetMutable<std::string>() = "three";
  const std::string* const address = text.GetMutable<std::string>();
  swap(number, text);
  EXPECT_EQ(&number.Get<std::string>(), address);
  EXPECT_EQ(text.Get<int>(), 3);
}

TEST(BlobTest, ReleaseLeavesTheValueToTheCaller) {
  const int before = Counted::alive;
  void* value = nullptr;
  Blob::DestroyCall destroy = nullptr;
  {
    Blob blob;
    value = blob.GetMutable<Counted>();
    destroy = blob.Release();
    EXPECT_EQ(&blob.Get<Counted>(), value);
  }
  EXPECT_EQ(Counted::alive, before + 1);
  ASSERT_NE(destroy, nullptr);
  destroy(value);
  EXPECT_EQ(Counted::alive, before);
}

TEST(BlobTest, ATensorInItKeepsItsAddress) {
  Blob blob;
  TensorCPU* const tensor = blob.GetMutable<TensorCPU>();
  tensor->Resize(2, 3);
  EXPECT_EQ(&blob.Get<TensorCPU>(), tensor);
  EXPECT_EQ(blob.GetMutable<TensorCPU>(), tensor);
  EXPECT_TRUE(blob.IsType<TensorCPU>());
  TensorCPU* const other = new TensorCPU(std::vector<int>{4});
  EXPECT_EQ(blob.Reset(other), other);
  EXPECT_EQ(blob.Get<TensorCPU>().size(), 4);
}

TEST(BlobTest, AConstructorThatThrowsLeavesTheOldValue) {
  Blob blob;
  *blob.GetMutable<int>() = 5;
  Throwing::left = 0;
  EXPECT_THROW(blob.GetMutable<Throwing>(), std::runtime_error);
  EXPECT_EQ(blob.Get<int>(), 5);
}

TEST(BlobTest, GivingItsOwnValueToItChangesNothing) {
  Blob blob;
  Counted* const value = blob.GetMutable<Counted>();
  const int before = Counted::alive;
  EXPECT_EQ(blob.Reset(value), value);
  EXPECT_EQ(Counted::alive, before);
  EXPECT_EQ(blob.Get<Counted>().value, 7);
}

}  // namespace
