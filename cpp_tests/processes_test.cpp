// Exit status and output of processes that end and that fork, in the ways that EXITS, FORKS, OPENS_PLUGIN and FINALISES
// get as an argument.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "support/run.hpp"

namespace {

/// CTest starts the tests with the simulated driver on the library path, or sets SYNCEDMEM_TESTS_NO_DRIVER.
bool has_driver() { return !std::getenv("SYNCEDMEM_TESTS_NO_DRIVER"); }

void expect_silence(const Outcome& run) {
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.output, "") << run;
  EXPECT_EQ(run.errors, "") << run;
}

class Process : public ::testing::TestWithParam<std::string> {};

std::string name_of(const ::testing::TestParamInfo<std::string>& how) {
  std::string name;
  for (char letter : how.param) {
    if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
  }
  return name;
}

class ProcessThatExits : public Process {};

TEST_P(ProcessThatExits, IsSilent) { expect_silence(run(EXITS " " + GetParam())); }

INSTANTIATE_TEST_SUITE_P(How, ProcessThatExits,
                         ::testing::Values("static-before", "static-after", "static-both", "atexit-before",
                                           "atexit-after", "use-at-exit", "on-a-thread", "exit-on-a-thread",
                                           "never-ended", "exit-with-frames", "quick-exit", "_exit", "full-pools",
                                           "trims-at-exit", "while-blocks-age"),
                         name_of);

TEST(AProcessThatExits, IsSilentWhileCopiesAreInFlight) {
  if (!has_driver()) GTEST_SKIP() << "nothing is ever in flight";
  expect_silence(run(EXITS " in-flight"));
}

class LibraryThatUsesUs : public Process {};

TEST_P(LibraryThatUsesUs, MayBeClosedOrLeftOpen) {
  expect_silence(run(OPENS_PLUGIN " " PLUGIN " " + GetParam()));
}

TEST_P(LibraryThatUsesUs, MayBeSoWithTheLibraryInside) {
  expect_silence(run(OPENS_PLUGIN " " PLUGIN_STATIC " " + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(How, LibraryThatUsesUs, ::testing::Values("1 closes", "3 closes", "1 leaves"), name_of);

#ifdef PYTHON
class PythonsEnd : public Process {};

TEST_P(PythonsEnd, IsSilent) { expect_silence(run(PYTHON " " FINALISES " " SYNCEDMEM_LIBRARY " " + GetParam())); }

INSTANTIATE_TEST_SUITE_P(With, PythonsEnd, ::testing::Values("globals", "cycles", "atexit", "never", "thread"),
                         name_of);
#endif

class ProcessThatForks : public Process {
 protected:
  void SetUp() override {
    if (!has_driver()) GTEST_SKIP() << "there is another test for that";
  }
};

TEST_P(ProcessThatForks, GoesOnAndItsChildHasTheHostData) { expect_silence(run(FORKS " " + GetParam())); }

INSTANTIATE_TEST_SUITE_P(How, ProcessThatForks,
                         ::testing::Values("with-every-object", "before-the-first-use", "twice"),
                         name_of);

TEST(AProcessThatForks, HasAnOrdinaryChildWithoutADriver) {
  if (has_driver()) GTEST_SKIP() << "there are other tests for that";
  expect_silence(run(FORKS " without-a-driver"));
}

TEST(AProcessThatForks, HasAChildThatIsRefusedTheDeviceThroughTheCxxAbiToo) {
  if (!has_driver()) GTEST_SKIP() << "every process is refused";
  const Outcome ended = run(FORKS " refused-in-cxx");
  EXPECT_EQ(ended.status, 0) << ended;
  EXPECT_NE(ended.errors.find("SyncedMemory::gpu_data: no GPU: this process was forked"), std::string::npos) << ended;
  EXPECT_EQ(ended.errors.find("not so"), std::string::npos) << ended;
}

// The tests above find mistakes.
TEST(TheSimulatedDriver, AbortsAProcessThatCallsItAfterItsEndOrInAChild) {
  if (!has_driver()) GTEST_SKIP() << "it is not there";
  EXPECT_NE(run(EXITS " wrongly").status, 0);
  EXPECT_NE(run(EXITS " wrongly").errors, "");
  EXPECT_NE(run(FORKS " wrongly").status, 0);
}

}  // namespace
