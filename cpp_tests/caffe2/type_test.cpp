// TypeMeta: identity, names and functions of C++ types.
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
// Types need no registration with this header; code that registers them compiles.
CAFFE_KNOWN_TYPE(Foo);
CAFFE_KNOWN_TYPE(Counted);
}  // namespace caffe2

namespace {

TEST(TypeMetaTest, IsOnePerType) {
  const TypeMeta meta = TypeMeta::Make<Foo>();
  EXPECT_EQ(meta, TypeMeta::Make<Foo>());
  EXPECT_NE(meta, TypeMeta::Make<Bar>());
  EXPECT_TRUE(meta.Match<Foo>() && !meta.Match<Bar>() && !meta.Match<int>());
  EXPECT_EQ(meta.id(), TypeMeta::Id<Foo>());
  EXPECT_EQ(TypeMeta::Make<NotAssignable>().itemsize(), sizeof(NotAssignable));
  EXPECT_EQ(TypeMeta::ItemSize<NotAssignable>(), sizeof(NotAssignable));
  EXPECT_EQ(TypeMeta::Id<int>(), TypeMeta::Id<std::int32_t>());
  EXPECT_NE(TypeMeta::Id<int>(), TypeMeta::Id<float>());
  EXPECT_NE(TypeMeta::Id<uint16_t>(), TypeMeta::Id<float16>());
  EXPECT_NE(TypeMeta::Id<char>(), TypeMeta::Id<signed char>());
  EXPECT_NE(TypeMeta::Id<char>(), TypeMeta::Id<unsigned char>());
}

TEST(TypeMetaTest, HasTheNameThatTheProgramWrites) {
  EXPECT_STREQ(TypeMeta().name(), "nullptr (uninitialized)");
  EXPECT_STREQ(TypeMeta::Make<int>().name(), "int");
  EXPECT_STREQ(TypeMeta::Name<float>(), "float");
  EXPECT_STREQ(TypeMeta::Make<Foo>().name(), TypeMeta::TypeName<Foo>());
  EXPECT_TRUE(contains(TypeMeta::Make<Bar>().name(), "Bar"));
  const TypeMeta text = TypeMeta::Make<std::string>();
  EXPECT_STRNE(text.name(), typeid(std::string).name());
  EXPECT_EQ(text.name(), Demangle(typeid(std::string).name()));
}

TEST(TypeMetaTest, CtorDtorAndCopy) {
  const TypeMeta plain = TypeMeta::Make<int>();
  EXPECT_EQ(plain.ctor(), nullptr);
  EXPECT_EQ(plain.dtor(), nullptr);
  EXPECT_EQ(plain.copy(), nullptr);

  const TypeMeta counted = TypeMeta::Make<Counted>();
  Counted from, to;
  from.value = 10;
  counted.copy()(&from, &to, 1);
  EXPECT_EQ(to.value, 10);

  const TypeMeta fixed = TypeMeta::Make<NotAssignable>();
  EXPECT_NE(fixed.ctor(), nullptr);
  EXPECT_NE(fixed.dtor(), nullptr);
  EXPECT_EQ(fixed.copy(), &TypeMeta::_CopyNotAllowed<NotAssignable>);
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
  // The exception is kept until a call fails.
  EXPECT_THROW(detail::check(SYNCEDMEM_ERROR_INVALID_STATE), std::runtime_error);
  EXPECT_THROW(detail::check(SYNCEDMEM_ERROR_INVALID_STATE), EnforceNotMet);
}

}  // namespace
