// Measures the library's device side beside the calls that it makes, alternating in one process, compares its bytes,
// and prints tables in Markdown.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench.hpp"
#include "parts.hpp"
#include "report.hpp"
#include "sections.hpp"

namespace {

struct Section {
  const char* name;
  double seconds;
  void (*measure)(Bench&);  // null: it runs in processes of its own, and opens nothing in this one
};

// The most valuable first.
const Section kSections[] = {{"bytes", 50, nullptr}, {"blocks", 20, blocks}};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void about(const Driver& driver, const Runtime& runtime, const Library& library) {
  const std::string driver_text = "CUDA " + version_text(driver.version);
  std::printf("- device: %s\n- driver: %s\n- runtime: %s\n- library: libsyncedmem %s\n", driver.device_name.c_str(),
              driver_text.c_str(), runtime.name.c_str(), library.version());
  if (driver.simulated) std::puts("- simulated: the figures mean nothing");
  std::puts("\nTimes: median [10th - 90th percentile] of a call.");
  std::puts("Ratio: the first column's median by the other's; below 1 is faster.");
  report::record("\"device\": " + report::quoted(driver.device_name) + ", \"driver\": " + report::quoted(driver_text) +
                 ", \"runtime\": " + report::quoted(runtime.name) + ", \"library\": " +
                 report::quoted(library.version()) + ", \"simulated\": " + (driver.simulated ? "true" : "false"));
}

// One section, or one part of `bytes`.
void run(const Settings& settings, const Section& section) {
  const std::string missing = Driver::missing(settings.driver, settings.device);
  if (!missing.empty()) return report::skipped(settings.part.empty() ? section.name : settings.part, missing);
  // The driver first: the library finds it by its soname.
  const Driver driver(settings.driver, settings.device);
  if (settings.simulated && !driver.simulated) die("--simulated, and the driver is a real one");
  const Runtime runtime(driver.simulated && settings.runtime.empty() ? "none" : settings.runtime, settings.device);
  const Library library(settings.library);
  const char* sentence = nullptr;
  if (library.cuda_status(&sentence) != SYNCEDMEM_SUCCESS) die(std::string("the library finds no GPU: ") + sentence);
  Bench bench(settings, driver, runtime, library, section.seconds);
  if (!settings.part.empty()) return run_part(bench, settings.part);
  about(driver, runtime, library);
  section.measure(bench);
}

const Section* find_section(const std::string& name) {
  for (const Section& section : kSections) {
    if (name == section.name) return &section;
  }
  std::fprintf(stderr, "device-bench: there is no section %s; see --list\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  if (settings.list) {
    for (const Section& section : kSections) std::puts(section.name);
    return 0;
  }
  const Section* const only = settings.only.empty() ? nullptr : find_section(settings.only);
  report::begin(!settings.part.empty() ? settings.part : only ? only->name : "device-bench", settings.json);
  for (const Section& section : kSections) {
    if (only != nullptr && only != &section) continue;
    if (section.measure == nullptr && settings.part.empty()) {
      bytes(settings);
    } else {
      run(settings, section);
    }
  }
  return report::end();
}
