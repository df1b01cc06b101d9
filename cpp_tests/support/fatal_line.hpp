// The line and the signal with which a C++ entry point ends the process.
#ifndef SUPPORT_FATAL_LINE_HPP
#define SUPPORT_FATAL_LINE_HPP

#include <csignal>
#include <string>

#include <gtest/gtest.h>

/// A glog line from `source` ("syncedmem.hpp"): `words` (a regular expression), then the library's report by
/// `function`.
inline std::string fatal_line(const std::string& source, const std::string& words, const std::string& function) {
  std::string name = source;
  if (name.find('.') != std::string::npos) name.replace(name.find('.'), 1, "\\.");
  return "(^|\n)F[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{6} +[0-9]+ " + name +
         ":[0-9]+\\] " + words + " ?:? ?SyncedMemory::" + function + ": .*";
}

#define EXPECT_ABORT(statement, line) EXPECT_EXIT(statement, ::testing::KilledBySignal(SIGABRT), line)

#endif  // SUPPORT_FATAL_LINE_HPP
