// Reasons why there is no GPU: each has a sentence of its own, in the status and in the error of every device call. SAYS_WHY prints
// both; FAKES has a folder for each fake libcuda.so.1.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "support/run.hpp"

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The sentence with `fake` as the driver.
std::string why_not(const std::string& fake, const std::string& environment = "-u CUDA_VISIBLE_DEVICES") {
  const Outcome said = run("'" SAYS_WHY "'", environment + " 'LD_LIBRARY_PATH=" FAKES "/" + fake + "'");
  EXPECT_EQ(said.status, 0) << fake << ": " << said;
  EXPECT_EQ(said.errors, "") << fake << ": " << said;
  const std::string begin = "SYNCEDMEM_ERROR_NO_GPU: ";
  const std::string first = said.output.substr(0, said.output.find('\n'));
  EXPECT_EQ(first.substr(0, begin.size()), begin) << fake;
  const std::string sentence = first.size() < begin.size() ? "" : first.substr(begin.size());
  const std::string second = said.output.substr(std::min(said.output.size(), first.size() + 1));
  EXPECT_EQ(second.substr(0, begin.size()), begin) << fake;
  EXPECT_FALSE(sentence.empty()) << fake;
  EXPECT_TRUE(contains(second, sentence)) << fake << ": the device call says something else: " << second;
  return sentence;
}

TEST(WhyThereIsNoGpu, NoLibrary) {
  const std::string sentence = why_not("none");
  if (contains(sentence, "does not start") || contains(sentence, "finds no device")) {
    GTEST_SKIP() << "this machine has a driver of its own: " << sentence;
  }
  EXPECT_TRUE(contains(sentence, "libcuda.so.1 is not installed")) << sentence;
}

TEST(WhyThereIsNoGpu, AFileThatIsNoLibrary) {
  const std::string sentence = why_not("no_library");
  EXPECT_TRUE(contains(sentence, "cannot be loaded")) << sentence;
  EXPECT_TRUE(contains(sentence, "file too short") || contains(sentence, "invalid ELF header")) << sentence;
}

TEST(WhyThereIsNoGpu, AFunctionThatIsMissing) {
  EXPECT_TRUE(contains(why_not("incomplete"), "cuMemcpy"));
}

TEST(WhyThereIsNoGpu, TheToolkitsStub) {
  EXPECT_TRUE(contains(why_not("stub"), "stub"));
  EXPECT_TRUE(contains(why_not("stub_at_init"), "stub"));
}

TEST(WhyThereIsNoGpu, ADriverThatIsTooOld) {
  const std::string sentence = why_not("old");
  EXPECT_TRUE(contains(sentence, "6.5")) << sentence;
  EXPECT_TRUE(contains(sentence, "newer")) << sentence;
}

TEST(WhyThereIsNoGpu, ADriverThatDoesNotStart) {
  const std::string mismatch = why_not("mismatch"), unknown = why_not("unknown"), newer = why_not("unheard_of");
  EXPECT_TRUE(contains(mismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)")) << mismatch;
  EXPECT_TRUE(contains(unknown, "CUDA_ERROR_UNKNOWN (999)")) << unknown;
  EXPECT_TRUE(contains(newer, "4242")) << newer;
}

TEST(WhyThereIsNoGpu, NoDevice) {
  const std::string no_device = why_not("no_device"), none_counted = why_not("none_counted");
  EXPECT_EQ(no_device, none_counted);
  EXPECT_TRUE(contains(no_device, "no device")) << no_device;
  EXPECT_FALSE(contains(no_device, "CUDA_VISIBLE_DEVICES")) << no_device;
}

TEST(WhyThereIsNoGpu, EveryDeviceHidden) {
  for (const char* hidden : {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=-1"}) {
    const std::string sentence = why_not("no_device", hidden);
    EXPECT_TRUE(contains(sentence, "CUDA_VISIBLE_DEVICES")) << sentence;
  }
}

TEST(WhyThereIsNoGpu, EachReasonHasItsOwnSentence) {
  std::map<std::string, std::string> sentences;
  for (const char* fake : {"none", "no_library", "incomplete", "stub", "old", "mismatch", "unknown", "unheard_of",
                           "no_device"}) {
    const std::string sentence = why_not(fake);
    EXPECT_TRUE(sentences.emplace(sentence, fake).second) << fake << " and " << sentences[sentence] << ": " << sentence;
  }
  EXPECT_TRUE(sentences.emplace(why_not("no_device", "CUDA_VISIBLE_DEVICES="), "hidden").second);
}

TEST(ACancelledThread, EndsBehindTheLibraryNotInsideTheDriver) {
  const Outcome said = run("'" CANCELLED "'", "'LD_LIBRARY_PATH=" FAKES "/waiting'");
  EXPECT_EQ(said.status, 0) << said;
  EXPECT_EQ(said.output, "4 calls returned, and then the thread was cancelled\n") << said;
  EXPECT_EQ(said.errors, "") << said;
}

}  // namespace
