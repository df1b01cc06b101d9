// TypeMeta: the tests of Caffe2 by their names, and what this library adds.
#include <cstring>
#include <type_traits>
#include <typeinfo>

#include "caffe2/support.hpp"

int Counted::alive = 0;
int Throwing::left = 0;
int Throwing::alive = 0;

namespace {

using namespace caffe2;

class Foo {};
class Bar {};
class NotAssignable {
 public:
  NotAssignable() : x(42) {}
  NotAssignable(const NotAssignable&) = delete;
  NotAssignable& operator=(const NotAssignable&) = delete;
  int x;
};

}  // namespace

namespace caffe2 {
// Types need no registration here; code that registers them compiles.
CAFFE_KNOWN_TYPE(Foo);
CAFFE_KNOWN_TYPE(Counted);
}  // namespace caffe2

namespace {

TEST(TypeMetaTest, TypeMetaStatic) {
  EXPECT_EQ(TypeMeta::ItemSize<int>(), sizeof(int));
  EXPECT_EQ(TypeMeta::ItemSize<float>(), sizeof(float));
  EXPECT_EQ(TypeMeta::ItemSize<Foo>(), sizeof(Foo));
  EXPECT_EQ(TypeMeta::ItemSize<NotAssignable>(), sizeof(NotAssignable));
  EXPECT_NE(TypeMeta::Id<int>(), TypeMeta::Id<float>());
  EXPECT_NE(TypeMeta::Id<int>(), TypeMeta::Id<Foo>());
  EXPECT_NE(TypeMeta::Id<Foo>(), TypeMeta::Id<Bar>());
  EXPECT_EQ(TypeMeta::Id<int>(), TypeMeta::Id<int>());
  EXPECT_EQ(TypeMeta::Id<Foo>(), TypeMeta::Id<Foo>());
}

TEST(TypeMetaTest, Names) {
  EXPECT_STREQ(TypeMeta().name(), "nullptr (uninitialized)");
  EXPECT_STREQ(TypeMeta::Make<int>().name(), "int");
  const TypeMeta text = TypeMeta::Make<std::string>();
  EXPECT_STRNE(text.name(), typeid(std::string).name());
  EXPECT_EQ(text.name(), Demangle(typeid(std::string).name()));
}

TEST(TypeMetaTest, TypeMeta) {
  const TypeMeta int_meta = TypeMeta::Make<int>(), float_meta = TypeMeta::Make<float>();
  const TypeMeta foo_meta = TypeMeta::Make<Foo>(), bar_meta = TypeMeta::Make<Bar>();
  EXPECT_EQ(int_meta, TypeMeta::Make<int>());
  EXPECT_EQ(foo_meta, TypeMeta::Make<Foo>());
  EXPECT_NE(int_meta, float_meta);
  EXPECT_NE(int_meta, foo_meta);
  EXPECT_NE(foo_meta, bar_meta);
  EXPECT_TRUE(int_meta.Match<int>());
  EXPECT_TRUE(foo_meta.Match<Foo>());
  EXPECT_FALSE(int_meta.Match<float>());
  EXPECT_FALSE(int_meta.Match<Foo>());
  EXPECT_FALSE(foo_meta.Match<int>());
  EXPECT_FALSE(foo_meta.Match<Bar>());
  EXPECT_EQ(int_meta.id(), TypeMeta::Id<int>());
  EXPECT_EQ(foo_meta.id(), TypeMeta::Id<Foo>());
  EXPECT_EQ(int_meta.itemsize(), TypeMeta::ItemSize<int>());
  EXPECT_EQ(bar_meta.itemsize(), TypeMeta::ItemSize<Bar>());
  EXPECT_STREQ(int_meta.name(), TypeMeta::Name<int>());
  EXPECT_STREQ(float_meta.name(), "float");
  EXPECT_STREQ(foo_meta.name(), TypeMeta::TypeName<Foo>());
  EXPECT_TRUE(contains(bar_meta.name(), "Bar"));
}

TEST(TypeMetaTest, CtorDtorAndCopy) {
  const TypeMeta plain = TypeMeta::Make<int>();
  EXPECT_EQ(plain.ctor(), nullptr);
  EXPECT_EQ(plain.dtor(), nullptr);
  EXPECT_EQ(plain.copy(), nullptr);

  const TypeMeta counted = TypeMeta::Make<Counted>();
  ASSERT_NE(counted.ctor(), nullptr);
  ASSERT_NE(counted.dtor(), nullptr);
  ASSERT_NE(counted.copy(), nullptr);
  Counted from, to;
  from.value = 10;
  counted.copy()(&from, &to, 1);
  EXPECT_EQ(to.value, 10);

  const TypeMeta fixed = TypeMeta::Make<NotAssignable>();
  EXPECT_NE(fixed.ctor(), nullptr);
  EXPECT_NE(fixed.dtor(), nullptr);
  EXPECT_EQ(fixed.copy(), &TypeMeta::_CopyNotAllowed<NotAssignable>);
}

TEST(TypeMetaTest, Float16IsNotUint16) { EXPECT_NE(TypeMeta::Id<uint16_t>(), TypeMeta::Id<float16>()); }

TEST(TypeMetaTest, CharIsAnotherTypeThanItsSignedAndItsUnsignedOne) {
  EXPECT_NE(TypeMeta::Id<char>(), TypeMeta::Id<signed char>());
  EXPECT_NE(TypeMeta::Id<char>(), TypeMeta::Id<unsigned char>());
}

TEST(TypeMetaTest, ConstructsAndDestroysEveryItem) {
  const TypeMeta counted = TypeMeta::Make<Counted>();
  alignas(Counted) unsigned char place[3 * sizeof(Counted)];
  const int before = Counted::alive;
  counted.ctor()(place, 3);
  EXPECT_EQ(Counted::alive, before + 3);
  counted.dtor()(place, 3);
  EXPECT_EQ(Counted::alive, before);
}

TEST(TypeMetaTest, AConstructorThatThrowsLeavesNoItem) {
  alignas(Throwing) unsigned char place[3 * sizeof(Throwing)];
  Throwing::left = 2;
  EXPECT_FALSE(TypeMeta::Make<Throwing>().ctor()(place, 3));
  EXPECT_EQ(Throwing::alive, 0);
  // The exception waits for a call that fails.
  EXPECT_THROW(detail::check(SYNCEDMEM_ERROR_INVALID_STATE), std::runtime_error);
  EXPECT_THROW(detail::check(SYNCEDMEM_ERROR_INVALID_STATE), EnforceNotMet);
}

}  // namespace
