// Caffe2's exception, and the macros that throw it.
#include "caffe2/support.hpp"

namespace {

using namespace caffe2;

TEST(EnforceNotMetTest, NamesTheFileTheConditionAndTheText) {
  const std::string sentence = sentence_of<EnforceNotMet>([] { CAFFE_ENFORCE(2 < 1, "two is ", 2); });
  EXPECT_TRUE(contains(sentence, "[enforce fail at logging_test.cpp:")) << sentence;
  EXPECT_TRUE(contains(sentence, "] 2 < 1. two is 2")) << sentence;
}

TEST(EnforceNotMetTest, TakesMoreText) {
  EnforceNotMet error("folder/net.cc", 7, "ready", "not yet.");
  error.AppendMessage(" In net A.");
  EXPECT_EQ(error.msg(), "[enforce fail at net.cc:7] ready. not yet. In net A.");
  EXPECT_EQ(error.what(), error.msg());
  EXPECT_EQ(error.msg_stack().size(), 2u);
  EXPECT_EQ(error.status(), SYNCEDMEM_ERROR_INVALID_STATE);
}

TEST(EnforceNotMetTest, AComparisonEvaluatesOnceAndShowsBothValues) {
  int calls = 0;
  auto next = [&calls] { return ++calls; };
  const std::string sentence = sentence_of<EnforceNotMet>([&] { CAFFE_ENFORCE_GT(next(), 1); });
  EXPECT_TRUE(contains(sentence, "next() > 1. 1 vs 1")) << sentence;
  EXPECT_EQ(calls, 1);
  EXPECT_NO_THROW(CAFFE_ENFORCE_THAT(Equals(next(), 2), "in order"));
  EXPECT_NO_THROW(CAFFE_ENFORCE_NE(next(), 2));
  EXPECT_NO_THROW(CAFFE_ENFORCE_LE(next(), 4));
  EXPECT_NO_THROW(CAFFE_ENFORCE_LT(next(), 6));
  EXPECT_NO_THROW(CAFFE_ENFORCE_GE(next(), 6));
  EXPECT_THROW(CAFFE_ENFORCE_THAT(NotEquals(next(), 7)), EnforceNotMet);
}

TEST(MakeStringTest, JoinsWhatCanBePrinted) {
  EXPECT_EQ(MakeString("size ", 3, ", ", 0.5), "size 3, 0.5");
  EXPECT_EQ(MakeString(), "");
  EXPECT_EQ(Join(", ", std::vector<int>{3, 1, 2}), "3, 1, 2");
  EXPECT_EQ(Join(", ", std::vector<int>()), "");
}

}  // namespace
