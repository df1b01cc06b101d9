#include "settings.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

const char kUsage[] =
    "usage: device-bench [OPTION...]\n"
    "\n"
    "  --list           print the names of the sections, in the order to run them\n"
    "  --only SECTION   only that section; default: all of them, in one process\n"
    "  --library PATH   the library to measure; default: libsyncedmem.so\n"
    "  --driver PATH    the CUDA driver; default: libcuda.so.1\n"
    "  --runtime PATH   the CUDA runtime to compare with as well, or none; default: the system's, if there is one\n"
    "  --device N       the device; default: 0\n"
    "  --simulated      the driver is the simulated one: status 2 if it is not\n"
    "  --largest BYTES  the largest size, with K, M or G; default: the section's, or what memory allows\n"
    "  --seconds N      about how long a section takes in all; default: the section's\n"
    "  --json FILE      append every figure to FILE, a JSON object per line\n"
    "  --check          accepted, and does nothing: bounds are always judged\n"
    "\n"
    "On the simulated driver no time is judged, only bytes and which calls are made.\n"
    "Status 0: all passed; 1: something failed; 2: the command line is wrong; 77: nothing could run.\n";

[[noreturn]] void refuse(const std::string& sentence) {
  std::fprintf(stderr, "device-bench: %s\n", sentence.c_str());
  std::exit(2);
}

std::size_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  const std::size_t factor = unit == "K" ? kKiB : unit == "M" ? kMiB : unit == "G" ? kGiB : unit.empty() ? 1 : 0;
  if (end == text.c_str() || factor == 0) refuse("--largest: " + text + " is not a size such as 64M");
  return static_cast<std::size_t>(number) * factor;
}

}  // namespace

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "-h" || name == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (name == "--check") continue;
    if (name == "--list" || name == "--simulated") {
      (name == "--list" ? settings.list : settings.simulated) = true;
      continue;
    }
    std::string* text = name == "--library"   ? &settings.library
                        : name == "--driver"  ? &settings.driver
                        : name == "--runtime" ? &settings.runtime
                        : name == "--json"    ? &settings.json
                        : name == "--only"    ? &settings.only
                        : name == "--part"    ? &settings.part  // of a section, in a process of its own: see parts.hpp
                                              : nullptr;
    const bool number = name == "--device" || name == "--largest" || name == "--seconds";
    if (text == nullptr && !number) refuse("unknown option: " + name + "; see --help");
    if (++i == argc) refuse(name + " needs a value; see --help");
    if (text != nullptr) *text = argv[i];
    if (name == "--device") settings.device = std::atoi(argv[i]);
    if (name == "--seconds") settings.seconds = std::atof(argv[i]);
    if (name == "--largest") settings.largest = bytes_of(argv[i]);
  }
  return settings;
}
