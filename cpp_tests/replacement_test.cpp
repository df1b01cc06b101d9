// How much of a Caffe the library replaces, for each way to link it: both sides count the calls of DRIVER_* on a
// look-alike of libcaffe.
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "support/run.hpp"

namespace {

using Calls = std::map<std::string, int>;

/// The numbers in the line that begins with `who`; none if there is no such line.
Calls calls_in(const std::string& output, const std::string& who) {
  std::istringstream lines(output);
  Calls calls;
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, who.size() + 1, who + " ") != 0) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      const int count = std::stoi(word.substr(equals + 1));
      if (count) calls[word.substr(0, equals)] = count;
    }
  }
  return calls;
}

const std::string preloaded = "LD_PRELOAD='" SYNCEDMEM_LIBRARY "'";
const std::string free_able = preloaded + " SYNCEDMEM_HOST_BLOCKS=malloc";

const Calls none;
const Calls all = {
    {"construct", 15}, {"destroy", 15}, {"cpu_data", 15}, {"mutable_cpu_data", 25}, {"set_cpu_data", 5}};
const Calls those_in_the_library = {{"construct", 10}, {"destroy", 10}, {"cpu_data", 5}, {"mutable_cpu_data", 15}};
const Calls those_in_the_program = {
    {"construct", 5}, {"destroy", 5}, {"cpu_data", 10}, {"mutable_cpu_data", 10}, {"set_cpu_data", 5}};

void expect(const Outcome& run, const Calls& original, const Calls& ours) {
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_NE(run.output.find("driver right\n"), std::string::npos) << run;
  EXPECT_EQ(calls_in(run.output, "original"), original) << run;
  EXPECT_EQ(calls_in(run.errors, "calls of"), ours) << run;
}

/// `how` is inside or across, as in lookalike/driver.cpp.
Outcome drive(const std::string& driver, const std::string& how, const std::string& environment) {
  return run("'" + driver + "' " + how, "SYNCEDMEM_REPORT=stderr SYNCEDMEM_ACCOUNT=accesses " + environment);
}

TEST(ACaffeAlone, MakesAllItsCallsToItself) {
  expect(drive(DRIVER_PLAIN, "inside", ""), all, none);
  expect(drive(DRIVER_PLAIN, "across", ""), all, none);
  expect(drive(DRIVER_SYMBOLIC, "across", ""), all, none);
  expect(drive(DRIVER_STATIC, "across", ""), all, none);
}

TEST(ACaffeLinkedPlainly, IsReplacedWhollyByAPreload) {
  expect(drive(DRIVER_PLAIN, "inside", preloaded), none, all);
  expect(drive(DRIVER_PLAIN, "across", preloaded), none, all);
}

TEST(ACaffeBoundWithinItself, IsNotReplacedByAPreloadAtAll) {
  expect(drive(DRIVER_SYMBOLIC, "inside", preloaded), all, none);
}

// The mixed binding: each side frees what the other allocated.
TEST(ACaffeBoundWithinItself, IsMixedWhereAProgramReachesInAndHeapSafeWithBlocksOfMallocs) {
  expect(drive(DRIVER_SYMBOLIC, "across", free_able), those_in_the_library, those_in_the_program);
}

TEST(ACaffeInsideTheProgram, IsNotReplacedByAPreloadAtAll) {
  expect(drive(DRIVER_STATIC, "inside", preloaded), all, none);
  expect(drive(DRIVER_STATIC, "across", preloaded), all, none);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWholly) {
  expect(drive(DRIVER_AGAINST_SHARED, "inside", ""), none, all);
  expect(drive(DRIVER_AGAINST_SHARED, "across", ""), none, all);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWhollyEvenWhereItBindsWithinItself) {
  expect(drive(DRIVER_SYMBOLIC_AGAINST_SHARED, "inside", ""), none, all);
  expect(drive(DRIVER_SYMBOLIC_AGAINST_SHARED, "across", ""), none, all);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWhollyInsideTheProgram) {
  expect(drive(DRIVER_AGAINST_STATIC, "inside", ""), none, all);
  expect(drive(DRIVER_AGAINST_STATIC, "across", ""), none, all);
}

}  // namespace
