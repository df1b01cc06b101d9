// How much of a Caffe the library replaces, for each way to link it: both sides count the calls of DRIVER_* on a
// look-alike of libcaffe.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

using Calls = std::map<std::string, int>;

struct Run {
  bool right = false;
  int status = -1;
  Calls original, ours;
  std::string output;
};

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

Run run(const std::string& driver, const std::string& how, const std::string& environment) {
  const std::string command = "env SYNCEDMEM_REPORT=stderr SYNCEDMEM_ACCOUNT=accesses " + environment + " '" + driver + "' " + how + " 2>&1";
  Run result;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return result;
  std::array<char, 4096> part;
  for (std::size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    result.output.append(part.data(), got);
  }
  result.status = pclose(pipe);
  result.right = result.status == 0 && result.output.find("driver right\n") != std::string::npos;
  result.original = calls_in(result.output, "original");
  result.ours = calls_in(result.output, "calls of");
  return result;
}

const std::string preloaded = "LD_PRELOAD='" SYNCEDMEM_LIBRARY "'";
const std::string free_able = preloaded + " SYNCEDMEM_HOST_BLOCKS=malloc";

const Calls none;
const Calls all = {
    {"construct", 15}, {"destroy", 15}, {"cpu_data", 15}, {"mutable_cpu_data", 25}, {"set_cpu_data", 5}};
const Calls those_in_the_library = {{"construct", 10}, {"destroy", 10}, {"cpu_data", 5}, {"mutable_cpu_data", 15}};
const Calls those_in_the_program = {
    {"construct", 5}, {"destroy", 5}, {"cpu_data", 10}, {"mutable_cpu_data", 10}, {"set_cpu_data", 5}};

void expect(const Run& run, const Calls& original, const Calls& ours) {
  EXPECT_TRUE(run.right) << "status " << run.status << "\n" << run.output;
  EXPECT_EQ(run.original, original) << run.output;
  EXPECT_EQ(run.ours, ours) << run.output;
}

TEST(ACaffeAlone, MakesAllItsCallsToItself) {
  expect(run(DRIVER_PLAIN, "inside", ""), all, none);
  expect(run(DRIVER_PLAIN, "across", ""), all, none);
  expect(run(DRIVER_SYMBOLIC, "across", ""), all, none);
  expect(run(DRIVER_STATIC, "across", ""), all, none);
}

TEST(ACaffeLinkedPlainly, IsReplacedWhollyByAPreload) {
  expect(run(DRIVER_PLAIN, "inside", preloaded), none, all);
  expect(run(DRIVER_PLAIN, "across", preloaded), none, all);
}

TEST(ACaffeBoundWithinItself, IsNotReplacedByAPreloadAtAll) {
  expect(run(DRIVER_SYMBOLIC, "inside", preloaded), all, none);
}

// The mixed binding: each side frees what the other allocated.
TEST(ACaffeBoundWithinItself, IsMixedWhereAProgramReachesInAndHeapSafeWithBlocksOfMallocs) {
  expect(run(DRIVER_SYMBOLIC, "across", free_able), those_in_the_library, those_in_the_program);
}

TEST(ACaffeInsideTheProgram, IsNotReplacedByAPreloadAtAll) {
  expect(run(DRIVER_STATIC, "inside", preloaded), all, none);
  expect(run(DRIVER_STATIC, "across", preloaded), all, none);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWholly) {
  expect(run(DRIVER_AGAINST_SHARED, "inside", ""), none, all);
  expect(run(DRIVER_AGAINST_SHARED, "across", ""), none, all);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWhollyEvenWhereItBindsWithinItself) {
  expect(run(DRIVER_SYMBOLIC_AGAINST_SHARED, "inside", ""), none, all);
  expect(run(DRIVER_SYMBOLIC_AGAINST_SHARED, "across", ""), none, all);
}

TEST(ACaffeLinkedAgainstTheLibrary, IsReplacedWhollyInsideTheProgram) {
  expect(run(DRIVER_AGAINST_STATIC, "inside", ""), none, all);
  expect(run(DRIVER_AGAINST_STATIC, "across", ""), none, all);
}

}  // namespace
