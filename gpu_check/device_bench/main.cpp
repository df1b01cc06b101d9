// Measures the library's device side beside the calls that it makes, alternating in one process, and prints tables in
// Markdown. What is timed is described in work.hpp and churn.hpp.
#include <cstdio>
#include <string>
#include <utility>

#include "bench.hpp"
#include "sections.hpp"

namespace {

void write(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) die(path + " cannot be written");
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  // The driver first: the library finds it by its soname, wherever it was loaded from.
  const Driver driver(settings.driver, settings.device);
  const Runtime runtime(driver.simulated && settings.runtime.empty() ? "none" : settings.runtime, settings.device);
  const Library library(settings.library);
  const char* sentence = nullptr;
  if (library.cuda_status(&sentence) != SYNCEDMEM_SUCCESS) die(std::string("the library finds no GPU: ") + sentence);

  Bench bench(settings, driver, runtime, library);
  for (const std::pair<std::string, std::string>& line : bench.about) {
    std::printf("- %s: %s\n", line.first.c_str(), line.second.c_str());
  }
  std::puts("\nTimes: median [10th - 90th percentile] of a call.");
  std::puts("Ratio: the first column's median by the other's; below 1 is faster.");

  // What takes longest comes last: where the time is limited, the rest is there.
  const struct {
    const char* name;
    void (*measure)(Bench&);
  } sections[] = {{"ready", ready},
                  {"pinned_copies", pinned_copies},
                  {"device_blocks", device_blocks},
                  {"pinned_blocks", pinned_blocks},
                  {"registered_blocks", registered_blocks},
                  {"churn", churn},
                  {"page_locking", page_locking},
                  {"pageable_copies", pageable_copies}};
  for (const auto& section : sections) {
    if (!bench.wants(section.name)) continue;
    section.measure(bench);
    if (!settings.json.empty()) write(settings.json, bench.json());
  }
  std::puts("");
  return settings.check ? bench.judge() : 0;
}
