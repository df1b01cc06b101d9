// Exit status and output of processes that end in each way that EXITS and OPENS_PLUGIN know. tests/process/device_fork.rs tests
// forks, python/tests/test_shutdown.py the end of Python.
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
                         ::testing::Values("static-before", "static-after", "atexit-before",
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

}  // namespace
