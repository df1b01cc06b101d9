#include "bench.hpp"

#include <cstdio>

namespace {

// What the kernel says that it could give out without swapping.
std::size_t available_host_bytes() {
  unsigned long long kibibytes = 0;
  char line[256];
  std::FILE* file = std::fopen("/proc/meminfo", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return static_cast<std::size_t>(kibibytes) * kKiB;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

Bench::Bench(const Settings& asked, const Driver& the_driver, const Runtime& the_runtime, const Library& the_library)
    : settings(asked), driver(the_driver), runtime(the_runtime), library(the_library) {
  about = {{"device", driver.device_name},
           {"driver", "CUDA " + version_text(driver.version)},
           {"runtime", runtime.name},
           {"library", std::string("libsyncedmem ") + library.version()},
           {"simulated", driver.simulated ? "yes: the figures mean nothing" : "no"}};
}

bool Bench::wants(const std::string& section) const {
  return section.compare(0, settings.only.size(), settings.only) == 0;
}

void Bench::section(const std::string& title, const std::vector<std::string>& names) const {
  std::fprintf(stderr, "    %s\n", title.c_str());
  std::printf("\n### %s\n", title.c_str());
  if (!names.empty()) std::printf("\n%s\n", heading(names).c_str());
}

void Bench::say(const std::string& sentence) const {
  std::printf("\n%s\n", sentence.c_str());
  std::fflush(stdout);
}

Row Bench::measure(const std::string& id, const std::string& description, std::size_t bytes,
                   const std::vector<Contestant>& contestants, const Bound& bound) const {
  return ::measure(id, description, bytes, contestants, settings.seconds, bound);
}

void Bench::add(Row row) {
  if (driver.simulated) row.bound = kNoBound;
  std::puts(as_markdown(row).c_str());
  std::fflush(stdout);
  rows_.push_back(row);
}

void Bench::expect(const std::string& sentence, bool held) {
  if (driver.simulated) expectations_.push_back({sentence, held});
}

bool Bench::fits(std::size_t device_bytes, std::size_t host_bytes) const {
  return device_bytes + device_bytes / 2 <= driver.free_bytes() &&
         host_bytes + host_bytes / 2 <= available_host_bytes();
}

int Bench::judge() const {
  int kept = 0, missed = 0;
  for (const Row& row : rows_) {
    if (row.bound.kind == Bound::kNone) continue;
    const bool passed = row.kept() || !row.reason.empty();
    ++(passed ? kept : missed);
    if (passed) continue;
    const std::string ours = readable_time(row.times[0].median), theirs = readable_time(row.times[row.other()].median);
    std::printf("missed: %s: %s, and %s took %s; bound: %s\n", row.id.c_str(), ours.c_str(),
                row.names[row.other()].c_str(), theirs.c_str(), row.bound_sentence().c_str());
  }
  for (const Expectation& expectation : expectations_) {
    ++(expectation.held ? kept : missed);
    if (!expectation.held) std::printf("missed: %s\n", expectation.sentence.c_str());
  }
  std::printf("device-bench: %d bounds kept, %d missed\n", kept, missed);
  return missed ? 1 : 0;
}

std::string Bench::json() const { return as_json(rows_, about); }
