#include "bench.hpp"

#include <algorithm>
#include <cstdio>

#include "report.hpp"

namespace {

// Memory that the kernel can give out without swapping.
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

const double kSimulatedShare = 0.05;  // of a section's time: only bytes and calls are judged there

double time_for(const Settings& settings, const Driver& driver, double usual) {
  return settings.seconds > 0 ? settings.seconds : driver.simulated ? kSimulatedShare * usual : usual;
}

}  // namespace

Bench::Bench(const Settings& asked, const Driver& the_driver, const Runtime& the_runtime, const Library& the_library,
             double seconds)
    : settings(asked),
      driver(the_driver),
      runtime(the_runtime),
      library(the_library),
      seconds_(time_for(asked, the_driver, seconds)) {}

std::size_t Bench::largest(std::size_t usual) const {
  const std::size_t most = settings.largest ? settings.largest : driver.simulated ? 4 * kMiB : usual;
  return std::min(most, usual);
}

void Bench::section(const std::string& title, const std::vector<std::string>& names) const {
  std::printf("\n### %s\n", title.c_str());
  if (!names.empty()) std::printf("\n%s\n", heading(names).c_str());
  std::fflush(stdout);
}

void Bench::say(const std::string& sentence) const {
  std::printf("\n%s\n", sentence.c_str());
  std::fflush(stdout);
}

void Bench::row(const std::string& id, const std::string& description,
                const std::vector<Contestant>& contestants, const Bound& bound) {
  const double share = seconds_left() / static_cast<double>(std::max<std::size_t>(rows_to_come_, 1));
  if (rows_to_come_ > 0) --rows_to_come_;
  if (share <= 0) return report::skipped(id, "the time was up");
  const Row row = measure(id, description, contestants, share, driver.simulated ? kNoBound : bound);
  std::puts(as_markdown(row).c_str());
  std::fflush(stdout);
  report::record(as_json(row));
  if (row.kept()) return report::passed();
  report::failed(row.id, readable_time(row.times[0].median) + ", and " + row.names[row.bound.against] + " took " +
                             readable_time(row.times[row.bound.against].median) + "; bound: " + row.bound_sentence());
}

void Bench::expect(const std::string& sentence, bool held) const {
  if (!driver.simulated) return;
  if (held) return report::passed();
  report::failed("the calls in the driver's log", sentence);
}

bool Bench::fits(std::size_t device_bytes, std::size_t host_bytes) const {
  return device_bytes + device_bytes / 2 <= driver.free_bytes() &&
         host_bytes + host_bytes / 2 <= available_host_bytes();
}
