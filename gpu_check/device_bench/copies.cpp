#include "arena.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "sections.hpp"
#include "subject_bytes.hpp"
#include "work.hpp"

void ready(Bench& bench) {
  const long kCalls = 20000;
  const Subject subject(bench.library, 4 * kKiB, true);
  bench.section("Nothing to do", {"gpu_data()", "cpu_data()"});
  bench.row("ready", "both sides are current", 0,
            {{"gpu_data", [&] { return subject.ready_gpu_data(kCalls); }},
             {"cpu_data", [&] { return subject.ready_cpu_data(kCalls); }}},
            {Bound::kNoSlower, 1.05, 1});
}

namespace {

void copy(Bench& bench, const Subject& subject, bool to_device) {
  const std::size_t bytes = subject.bytes();
  // Many calls of a small size, so that the clock's own time does not count.
  const long calls = bytes >= kMiB ? 1 : 32;
  void* to = to_device ? subject.device() : subject.host();
  const void* from = to_device ? subject.host() : subject.device();
  std::vector<Contestant> contestants = {
      {"library",
       [&, calls, to_device] {
         return to_device ? subject.to_device(bench.driver, calls) : subject.to_host(bench.driver, calls);
       }},
      {"cuMemcpy", [=, &bench] { return raw_copy(bench.driver, bench.driver, to, from, bytes, calls); }}};
  if (bench.runtime.there()) {
    contestants.push_back(
        {"cudaMemcpy", [=, &bench] { return raw_copy(bench.runtime, bench.driver, to, from, bytes, calls); }});
  }
  const Bound share = {Bound::kBandwidth, 0.97, 0}, above = {Bound::kAbove, 300, 0};
  const std::string id = std::string(to_device ? "to_device." : "to_host.") + "pinned." + std::to_string(bytes);
  const std::string what = readable_bytes(bytes) + (to_device ? " to the device" : " to the host");
  bench.row(id, what, bytes, contestants, bytes >= kMiB ? share : above);
}

}  // namespace

void pinned_copies(Bench& bench) {
  std::vector<std::string> names = {"library", "cuMemcpy"};
  if (bench.runtime.there()) names.push_back("cudaMemcpy");
  bench.section("Copies, page-locked", names);
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 4 * kKiB; bytes <= bench.largest(kGiB); bytes *= 4) sizes.push_back(bytes);
  bench.plan(2 * sizes.size());
  Pattern pattern;
  for (const std::size_t bytes : sizes) {
    if (!bench.fits(bytes, 3 * bytes)) return report::skipped("pinned copies of " + readable_bytes(bytes), "no room");
    const Subject subject(bench.library, bytes, true);
    if (!subject.pinned()) return report::skipped("pinned copies of " + readable_bytes(bytes), "not page-locked here");
    const Readback readback(bench.driver, bytes, true);
    pattern.reserve(bytes);
    for (const bool to_device : {true, false}) {
      if (bench.seconds_left() > 0) {
        compare_bytes(bench.driver, subject, to_device, pattern.next(), readback.get(), "a copy of " + readable_bytes(bytes));
      }
      copy(bench, subject, to_device);
    }
  }
}
