// Blob: the tests of Caffe2 by their names, its rules, and what is not copied of it.
#include <memory>
#include <type_traits>
#include <utility>

#include "caffe2/support.hpp"

namespace {

using namespace caffe2;

static_assert(!std::is_copy_constructible<Blob>::value && !std::is_copy_assignable<Blob>::value, "");
static_assert(std::is_nothrow_move_constructible<Blob>::value && std::is_nothrow_move_assignable<Blob>::value, "");

class Foo {
 public:
  int value = 0;
};
class Bar {};

TEST(BlobTest, Blob) {
  Blob blob;
  EXPECT_NE(blob.GetMutable<int>(), nullptr);
  EXPECT_TRUE(blob.IsType<int>());
  EXPECT_FALSE(blob.IsType<Foo>());
  EXPECT_NE(blob.GetMutable<Foo>(), nullptr);
  EXPECT_TRUE(blob.IsType<Foo>());
  EXPECT_FALSE(blob.IsType<int>());
}

TEST(BlobTest, BlobNewObjectFlag) {
  Blob blob;
  bool is_new = false;
  blob.GetMutable<int>(&is_new);
  EXPECT_TRUE(is_new);
  blob.GetMutable<int>(&is_new);
  EXPECT_FALSE(is_new);
  blob.GetMutable<Foo>(&is_new);
  EXPECT_TRUE(is_new);
  blob.GetMutable<Foo>(&is_new);
  EXPECT_FALSE(is_new);
}

TEST(BlobTest, BlobUninitialized) {
  Blob blob;
  EXPECT_THROW(blob.Get<int>(), EnforceNotMet);
}

TEST(BlobTest, BlobWrongType) {
  Blob blob;
  blob.GetMutable<Foo>();
  EXPECT_TRUE(blob.IsType<Foo>());
  EXPECT_FALSE(blob.IsType<int>());
  EXPECT_EQ(&blob.Get<Foo>(), blob.GetRaw());
  EXPECT_THROW(blob.Get<int>(), EnforceNotMet);
}

TEST(BlobTest, BlobReset) {
  Blob blob;
  std::unique_ptr<Foo> foo(new Foo());
  const Foo* const address = foo.get();
  EXPECT_EQ(blob.Reset(foo.release()), address);
  blob.Reset();
  EXPECT_FALSE(blob.IsType<Foo>());
  EXPECT_EQ(blob.GetRaw(), nullptr);
}

TEST(BlobTest, BlobMove) {
  Blob first;
  Foo* const foo = first.Reset(new Foo());
  Blob second;
  second = std::move(first);
  EXPECT_THROW(first.Get<Foo>(), EnforceNotMet);
  EXPECT_EQ(&second.Get<Foo>(), foo);
  Blob third(std::move(second));
  EXPECT_EQ(&third.Get<Foo>(), foo);
}

TEST(BlobTest, BlobShareExternalPointer) {
  Blob blob;
  std::unique_ptr<Foo> foo(new Foo());
  EXPECT_EQ(blob.ShareExternal<Foo>(foo.get()), foo.get());
  EXPECT_TRUE(blob.IsType<Foo>());
  blob.Reset();
  EXPECT_FALSE(blob.IsType<Foo>());
}

TEST(BlobTest, BlobShareExternalObject) {
  Blob blob;
  Foo foo;
  EXPECT_EQ(blob.ShareExternal<Foo>(&foo), &foo);
  EXPECT_TRUE(blob.IsType<Foo>());
  blob.Reset();
  EXPECT_FALSE(blob.IsType<Foo>());
}

TEST(BlobTest, CastingMessage) {
  Blob blob;
  blob.GetMutable<Foo>();
  blob.Get<Foo>();
  const std::string sentence = sentence_of<EnforceNotMet>([&] { blob.Get<Bar>(); });
  EXPECT_TRUE(contains(sentence, "Foo")) << sentence;
  EXPECT_TRUE(contains(sentence, "Bar")) << sentence;
}

TEST(BlobRules, OwnsWhatResetGivesItAndNotWhatItShares) {
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

TEST(BlobRules, NamesItsType) {
  Blob blob;
  EXPECT_STREQ(blob.TypeName(), "nullptr (uninitialized)");
  blob.GetMutable<int>();
  EXPECT_STREQ(blob.TypeName(), "int");
  EXPECT_EQ(blob.meta(), TypeMeta::Make<int>());
}

TEST(BlobRules, SwapsItsValueWithAnother) {
  Blob number, text;
  *number.GetMutable<int>() = 3;
  *text.GetMutable<std::string>() = "three";
  const std::string* const address = text.GetMutable<std::string>();
  swap(number, text);
  EXPECT_EQ(&number.Get<std::string>(), address);
  EXPECT_EQ(text.Get<int>(), 3);
}

TEST(BlobRules, ReleaseLeavesTheValueToTheCaller) {
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

TEST(BlobRules, ATensorInItKeepsItsAddress) {
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

TEST(BlobRules, AConstructorThatThrowsLeavesTheOldValue) {
  Blob blob;
  *blob.GetMutable<int>() = 5;
  Throwing::left = 0;
  EXPECT_THROW(blob.GetMutable<Throwing>(), std::runtime_error);
  EXPECT_EQ(blob.Get<int>(), 5);
}

TEST(BlobNotCopied, MoveAssignmentEndsTheOldValue) {
  const int before = Counted::alive;
  Blob from, to;
  from.GetMutable<int>();
  to.GetMutable<Counted>();
  to = std::move(from);
  EXPECT_EQ(Counted::alive, before);
  EXPECT_TRUE(to.IsType<int>());
}

TEST(BlobNotCopied, GivingItsOwnValueToItChangesNothing) {
  Blob blob;
  Counted* const value = blob.GetMutable<Counted>();
  const int before = Counted::alive;
  EXPECT_EQ(blob.Reset(value), value);
  EXPECT_EQ(Counted::alive, before);
  EXPECT_EQ(blob.Get<Counted>().value, 7);
}

}  // namespace
