// The options of the command line.
#ifndef DEVICE_BENCH_SETTINGS_HPP_
#define DEVICE_BENCH_SETTINGS_HPP_

#include <cstddef>
#include <string>

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Settings {
  std::string library = "libsyncedmem.so", driver = "libcuda.so.1", runtime, json, only, part;
  std::size_t largest = 0;  // 0: the section's own
  double seconds = 0;       // 0: the section's own
  int device = 0;
  bool simulated = false, list = false;
};

// Ends the program after a wrong command line, and after --help.
Settings parse(int argc, char** argv);

#endif  // DEVICE_BENCH_SETTINGS_HPP_
