// Measures the library's device side beside the calls that it makes, alternating in one process, and prints tables in
#include <cstdio>
#include <string>
#include <utility>

#include "bench.hpp"
#include "sections.hpp"

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

  if (bench.wants("ready")) ready(bench);
  if (bench.wants("pinned_copies")) pinned_copies(bench);
  if (bench.wants("pageable_copies")) pageable_copies(bench);
  if (bench.wants("page_locking")) page_locking(bench);
  if (bench.wants("device_blocks")) device_blocks(bench);
  if (bench.wants("pinned_blocks")) pinned_blocks(bench);

  if (!settings.json.empty()) {
    std::FILE* file = std::fopen(settings.json.c_str(), "w");
    if (file == nullptr) die(settings.json + " cannot be written");
    std::fputs(bench.json().c_str(), file);
    std::fclose(file);
  }
  std::puts("");
  return settings.check ? bench.judge() : 0;
}
