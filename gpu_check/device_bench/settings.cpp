#include "settings.hpp"

#include <cstdio>
#include <cstdlib>

#include "libraries.hpp"

namespace {

const char kUsage[] =
    "usage: device-bench [OPTION...]\n"
    "\n"
    "  --library PATH   the library to measure; default: libsyncedmem.so\n"
    "  --driver PATH    the CUDA driver; default: libcuda.so.1\n"
    "  --runtime PATH   the CUDA runtime to compare with as well, or none; default: the system's, if there is one\n"
    "  --device N       the device; default: 0\n"
    "  --only PREFIX    only the sections whose name starts so: ready, pinned_copies, device_blocks, pinned_blocks,\n"
    "                   registered_blocks, churn, page_locking, pageable_copies\n"
    "  --largest BYTES  the largest size, with K, M or G; default: 4G, or what memory allows\n"
    "  --seconds N      about how long each row takes; default: 1\n"
    "  --json FILE      write the figures there as well\n"
    "  --check          exit with status 1, and a line for each, if a bound was missed\n"
    "\n"
    "On the simulated driver no time is judged, only which calls are made.\n"
    "Status 2: nothing could be measured.\n";

std::size_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  const std::size_t factor = unit == "K" ? kKiB : unit == "M" ? kMiB : unit == "G" ? kGiB : unit.empty() ? 1 : 0;
  if (end == text.c_str() || factor == 0) die("--largest: " + text + " is not a size such as 64M");
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
    if (name == "--check") {
      settings.check = true;
      continue;
    }
    std::string* text = name == "--library"   ? &settings.library
                        : name == "--driver"  ? &settings.driver
                        : name == "--runtime" ? &settings.runtime
                        : name == "--json"    ? &settings.json
                        : name == "--only"    ? &settings.only
                                              : nullptr;
    const bool number = name == "--device" || name == "--largest" || name == "--seconds";
    if (text == nullptr && !number) die("unknown option: " + name + "; see --help");
    if (++i == argc) die(name + " needs a value; see --help");
    if (text != nullptr) *text = argv[i];
    if (name == "--device") settings.device = std::atoi(argv[i]);
    if (name == "--seconds") settings.seconds = std::atof(argv[i]);
    if (name == "--largest") settings.largest = bytes_of(argv[i]);
  }
  return settings;
}
