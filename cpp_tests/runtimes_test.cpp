// The library throws with the C++ runtime of the calling program or library. If it cannot find that runtime, it aborts with a
// sentence. A callback that throws needs no search.
#include <string>

#include <gtest/gtest.h>

#include "support/run.hpp"

namespace {

const std::string caught =
    "cpu_data: bad_alloc, 1 destroyed, 0 uncaught\n"
    "cpu_data again: bad_alloc, 1 destroyed, 0 uncaught\n"
    "set_cpu_data: runtime_error Check failed: data, 1 destroyed, 0 uncaught\n"
    "CaffeMallocHost: bad_alloc, 1 destroyed, 0 uncaught\n";
const std::string caught_from_the_callback =
    "cpu_data: mine, 1 destroyed, 0 uncaught\n"
    "cpu_data again: mine, 1 destroyed, 0 uncaught\n"
    "set_cpu_data: mine, 1 destroyed, 0 uncaught\n"
    "CaffeMallocHost: mine, 1 destroyed, 0 uncaught\n";
const std::string caught_through_a_wrapper = "cpu_data: bad_alloc, 1 destroyed, 0 uncaught\n";

const char libstdcxx[] = "libstdc++.so.6";
const char libcxx[] = "libc++.so.1";

Outcome throwing(const std::string& command, const std::string& environment = "") {
  return run(command, "SYNCEDMEM_ON_ERROR=throw " + environment);
}

void expect_caught(const std::string& command, const std::string& expected, const std::string& environment = "") {
  const Outcome outcome = throwing(command, environment);
  EXPECT_EQ(outcome.status, 0) << command << ": " << outcome;
  EXPECT_EQ(outcome.output, expected) << command << ": " << outcome;
}

/// Runs a program that opened nothing before, or another runtime in either scope.
void expect_caught_beside(const std::string& program, const std::string& other) {
  for (const std::string& beside : {std::string(), " " + other + " local", " " + other + " global"}) {
    expect_caught(program + " policy" + beside, caught);
    expect_caught(program + " callback" + beside, caught_from_the_callback);
  }
}

/// Runs a program whose runtime cannot be found.
void expect_refused_beside(const std::string& program, const std::string& other) {
  for (const std::string& beside : {std::string(), " " + other + " local", " " + other + " global"}) {
    const Outcome outcome = throwing(program + " policy" + beside);
    EXPECT_EQ(outcome.status, 128 + SIGABRT) << program << beside << ": " << outcome;
    EXPECT_EQ(outcome.output, "") << program << beside << ": " << outcome;
    for (const char* part : {"an exception is to be thrown", "shows no C++ runtime to throw with", "-rdynamic", "syncedmem_set_error_callback", "aborting\n"}) {
      EXPECT_NE(outcome.errors.find(part), std::string::npos) << part << ": " << outcome;
    }
    expect_caught(program + " callback" + beside, caught_from_the_callback);
  }
}

TEST(Libstdcxx, IsThrownWithBesideOthers) { expect_caught_beside(CATCHES_SHARED, libcxx); }

TEST(Libstdcxx, IsFoundByAProgramAtAFixedAddressThatIsBoundLazily) { expect_caught_beside(CATCHES_FIXED, libcxx); }

TEST(Libstdcxx, OfALibraryIsFoundThroughAProgramAtAFixedAddress) {
  // A program at a fixed address resolves all references to a function to the program's PLT entry.
  expect_caught(CATCHES_FIXED " policy " PLUGIN_SHARED " fails", caught);
  expect_caught(CATCHES_FIXED " policy " PLUGIN_SHARED " fails", caught, "LD_BIND_NOW=1");
  expect_caught(CATCHES_FIXED " callback " PLUGIN_SHARED " fails", caught_from_the_callback);
}

TEST(Libstdcxx, IsFoundWhereTheLibraryIsLinkedIn) { expect_caught_beside(CATCHES_LINKED_IN, libcxx); }

TEST(StaticLibstdcxx, IsThrownWithWhereTheProgramExportsIt) { expect_caught_beside(CATCHES_EXPORTED, libstdcxx); }

TEST(StaticLibstdcxx, IsNotFoundWhereItIsNotExportedAndNoOtherTakesItsPlace) {
  expect_refused_beside(CATCHES_HIDDEN, libstdcxx);
  expect_refused_beside(CATCHES_HIDDEN_BESIDE_SHARED, libstdcxx);
}

TEST(Libstdcxx, IsFoundAmongWhatALibraryWithoutHandlersNeeds) {
  for (const char* program : {CATCHES_SHARED, CATCHES_FIXED, CATCHES_LINKED_IN}) {
    for (const char* wraps : {WRAPS_SHARED, WRAPS_INDIRECT}) {
      expect_caught(std::string(program) + " policy " + wraps + " wraps", caught_through_a_wrapper);
    }
  }
}

TEST(Libstdcxx, IsNotTakenForALibraryThatNeedsNone) {
  const Outcome outcome = throwing(CATCHES_SHARED " policy " WRAPS_NOTHING " wraps");
  EXPECT_EQ(outcome.status, 128 + SIGABRT) << outcome;
  EXPECT_NE(outcome.errors.find("syncedmem_set_error_callback"), std::string::npos) << outcome;
}

TEST(Libstdcxx, OfALibraryIsFoundWhereTheProgramHasNone) {
  const std::string program = OPENS;
  expect_caught(program + " policy " PLUGIN_SHARED, caught);
  expect_caught(program + " callback " PLUGIN_SHARED, caught_from_the_callback);
  expect_caught(program + " policy libstdc++.so.6 " PLUGIN_SHARED, caught, "LD_PRELOAD=" SYNCEDMEM_LIBRARY);
}

TEST(StaticLibstdcxx, OfALibraryIsNotTakenForAnothersWhereItIsHidden) {
  const std::string program = OPENS;
  const Outcome outcome = throwing(program + " policy " PLUGIN_SHARED " " PLUGIN_HIDDEN);
  EXPECT_EQ(outcome.status, 128 + SIGABRT) << outcome;
  EXPECT_NE(outcome.errors.find("syncedmem_set_error_callback"), std::string::npos) << outcome;
  expect_caught(program + " callback " PLUGIN_SHARED " " PLUGIN_HIDDEN, caught_from_the_callback);
}

#ifdef CATCHES_LIBCXX
TEST(Libcxx, IsThrownWithBesideOthers) { expect_caught_beside(CATCHES_LIBCXX, libstdcxx); }

TEST(Libcxx, IsFoundByAProgramAtAFixedAddressThatIsBoundLazily) {
  expect_caught_beside(CATCHES_LIBCXX_FIXED, libstdcxx);
}

TEST(Libcxx, IsFoundAmongWhatALibraryWithoutHandlersNeeds) {
  for (const char* program : {CATCHES_LIBCXX, CATCHES_LIBCXX_FIXED}) {
    expect_caught(std::string(program) + " policy " WRAPS_LIBCXX " wraps", caught_through_a_wrapper);
  }
}

TEST(Libcxx, IsFoundWhereTheLibraryIsLinkedIn) { expect_caught_beside(CATCHES_LIBCXX_LINKED_IN, libstdcxx); }

TEST(StaticLibcxx, IsNotFoundAndCatchesWhatACallbackThrowsByItsOwnUnwinder) {
  expect_refused_beside(CATCHES_LIBCXX_HIDDEN, libstdcxx);
}

TEST(Libcxx, OfALibraryIsFoundWhereTheProgramHasNoneAndAnotherLibraryHasAnother) {
  const std::string program = OPENS;
  expect_caught(program + " policy " PLUGIN_LIBCXX, caught);
  expect_caught(program + " policy " PLUGIN_SHARED " " PLUGIN_LIBCXX, caught);
  expect_caught(program + " callback " PLUGIN_SHARED " " PLUGIN_LIBCXX, caught_from_the_callback);
}
#endif

}  // namespace
