// Copies of a caller's pageable buffer: their bounds, the best numbers of threads and slots, and the gain of staging,
// for which the library is loaded a second time.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "arena.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "sections.hpp"
#include "subject_bytes.hpp"
#include "sweep.hpp"
#include "work.hpp"

namespace {

const std::size_t kSmallest = 64 * kKiB;
const double kWorthIt = 1.3;  // staging is on from the size from which all copies are so much faster than cuMemcpy

// Loaded with this value of SYNCEDMEM_STAGE_FROM.
Library staging_from(const Bench& bench, const char* bytes, const Pageable& buffer, void* device) {
  setenv("SYNCEDMEM_STAGE_FROM", bytes, 1);
  const Library library = Library::again(bench.settings.library);
  // Read at the first copy.
  Subject(library, kSmallest, buffer.get(), device).to_device(bench.driver, 1);
  unsetenv("SYNCEDMEM_STAGE_FROM");
  return library;
}

class Copies {
 public:
  Copies(Bench& bench, const Pageable& buffer, void* device, std::size_t largest)
      : bench_(bench),
        buffer_(buffer),
        device_(device),
        staged_(staging_from(bench, "1", buffer, device)),
        unstaged_(staging_from(bench, "0", buffer, device)),
        readback_(bench.driver, largest, true) {
    pattern_.reserve(largest);
  }

  static std::vector<std::size_t> sizes(std::size_t largest) {
    std::vector<std::size_t> sizes;
    for (std::size_t bytes = kSmallest; bytes <= largest; bytes *= 4) sizes.push_back(bytes);
    return sizes;
  }

  void measure(std::size_t largest) {
    std::vector<std::string> names = {"library, staged", "cuMemcpy"};
    if (bench_.runtime.there()) names.push_back("cudaMemcpy");
    names.push_back("library, not staged");
    bench_.section("Copies, pageable", names);
    for (const std::size_t bytes : sizes(largest)) {
      for (const bool to_device : {true, false}) copy(bytes, to_device);
    }
  }

  void conclude() {
    const char* const kSwitch = "SYNCEDMEM_STAGE_FROM";
    if (!stages()) return report::open_verdict(kSwitch, "the library stages nothing on this device");
    std::size_t from[2] = {0, 0};
    std::string figures;
    for (const bool to_device : {true, false}) {
      const std::map<std::size_t, double>& gains = gains_[to_device];
      for (auto at = gains.rbegin(); at != gains.rend() && at->second >= kWorthIt; ++at) from[to_device] = at->first;
      figures += to_device ? "cuMemcpy's time by that of a staged copy, to the device:" : "; to the host:";
      for (const auto& gain : gains) figures += " " + readable_bytes(gain.first) + readable_number(" %.2f", gain.second);
    }
    const std::size_t both = from[0] && from[1] ? std::max(from[0], from[1]) : 0;
    figures += both ? "; 1.3 or more in both directions from " + std::to_string(both) + " B on"
                    : std::string("; not 1.3 in both directions");
    if (!right_) figures += "; bytes were WRONG";
    report::verdict(kSwitch, bench_.driver.simulated, both != 0 && right_, figures);
  }

 private:
  void copy(std::size_t bytes, bool to_device) {
    const long calls = bytes >= kMiB ? 1 : 16;
    void* const host = buffer_.get();
    void *const to = to_device ? device_ : host, *const from = to_device ? host : device_;
    const Subject staged(staged_, bytes, host, device_), unstaged(unstaged_, bytes, host, device_);
    const auto ours = [=](const Subject& subject) {
      return to_device ? subject.to_device(bench_.driver, calls) : subject.to_host(bench_.driver, calls);
    };
    std::vector<Contestant> contestants = {
        {"library, staged", [&] { return ours(staged); }},
        {"cuMemcpy", [=] { return raw_copy(bench_.driver, bench_.driver, to, from, bytes, calls); }}};
    if (bench_.runtime.there()) {
      contestants.push_back(
          {"cudaMemcpy", [=] { return raw_copy(bench_.runtime, bench_.driver, to, from, bytes, calls); }});
    }
    contestants.push_back({"library, not staged", [&] { return ours(unstaged); }});
    const std::string what = readable_bytes(bytes) + (to_device ? " to the device" : " to the host");
    const std::string id = std::string(to_device ? "to_device." : "to_host.") + "pageable." + std::to_string(bytes);
    if (!bench_.row(id, what, bytes, contestants)) return;
    gains_[to_device][bytes] = bench_.last().times[1].median / bench_.last().times[0].median;
    for (const Subject* subject : {&staged, &unstaged}) {
      right_ = compare_bytes(bench_.driver, *subject, to_device, pattern_.next(), readback_.get(), id) && right_;
    }
    judge_calls(staged, unstaged, to_device, what);
  }

  void judge_calls(const Subject& staged, const Subject& unstaged, bool to_device, const std::string& what) {
    const auto pieces = [&](const Subject& subject) {
      const std::size_t before = bench_.driver.calls("cuMemcpyAsync");
      to_device ? subject.to_device(bench_.driver, 1) : subject.to_host(bench_.driver, 1);
      return bench_.driver.calls("cuMemcpyAsync") - before;
    };
    bench_.expect(what + " goes through slots if that is wanted", pieces(staged) > 0);
    bench_.expect(what + " goes through no slots if that is not wanted", pieces(unstaged) == 0);
  }

  // Whether the library with staging on stages.
  bool stages() const {
    staged_.must(staged_.set_accounting(SYNCEDMEM_ACCOUNTING_ON), "set_accounting");
    Subject(staged_, kMiB, buffer_.get(), device_).to_device(bench_.driver, 1);
    syncedmem_stats_t stats = {};
    stats.size = sizeof stats;
    staged_.must(staged_.stats(&stats), "stats");
    return stats.to_device_staged.count > 0;
  }

  Bench& bench_;
  const Pageable& buffer_;
  void* const device_;
  Library staged_, unstaged_;
  const Readback readback_;
  Pattern pattern_;
  bool right_ = true;
  // cuMemcpy's time by that of a staged copy, by direction and size.
  std::map<std::size_t, double> gains_[2];
};

// The link, and the host's memory.
void ceilings(Bench& bench, const Pageable& buffer, void* device, std::size_t bytes) {
  const int kThreads[] = {1, 2, 4, 8};
  std::vector<std::string> names = {"cuMemcpy, page-locked"};
  for (const int threads : kThreads) names.push_back("memcpy, threads: " + std::to_string(threads));
  bench.section("What bounds copies of pageable memory", names);
  const Readback pinned(bench.driver, bytes, true);
  for (const bool to_device : {true, false}) {
    void *const to = to_device ? device : pinned.get(), *const from = to_device ? pinned.get() : device;
    std::vector<Contestant> contestants = {
        {names[0], [=, &bench] { return raw_copy(bench.driver, bench.driver, to, from, bytes, 1); }}};
    for (const int threads : kThreads) {
      contestants.push_back({names[contestants.size()], [=, &buffer, &pinned] {
                               return host_copy(buffer.get(), bytes, pinned.get(), bytes / 4, !to_device, threads);
                             }});
    }
    bench.row(std::string("ceiling.") + (to_device ? "to_device" : "to_host"),
              readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes, contestants);
  }
}

}  // namespace

void pageable_copies(Bench& bench) {
  std::size_t largest = kSmallest;
  while (largest * 4 <= bench.largest(kGiB) && bench.fits(largest * 4, largest * 12)) largest *= 4;
  const Pageable buffer(largest);
  void* const device = bench.driver.allocate(largest);
  const std::size_t of_library = 2 * Copies::sizes(largest).size();
  bench.plan(2 + sweep_rows(largest) + of_library);
  ceilings(bench, buffer, device, std::min(largest, 64 * kMiB));
  {
    Copies copies(bench, buffer, device, largest);
    copies.measure(largest);
    copies.conclude();
  }
  sweep_staging(bench, buffer.get(), device, largest);
  bench.driver.free(device);
}
