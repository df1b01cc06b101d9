#include <algorithm>

#include "sections.hpp"
#include "work.hpp"

void ready(Bench& bench) {
  const long kCalls = 20000;
  const Subject subject(bench.library, 4 * kKiB, true);
  bench.section("Nothing to do", {"gpu_data()", "cpu_data()"});
  bench.add(bench.measure("ready", "both sides are current", 0,
                          {{"gpu_data", [&] { return subject.ready_gpu_data(kCalls); }},
                           {"cpu_data", [&] { return subject.ready_cpu_data(kCalls); }}},
                          {Bound::kNoSlower, 1.05, 1}));
}

namespace {

void copy(Bench& bench, const Subject& subject, bool to_device) {
  const std::size_t bytes = subject.bytes();
  // A sample of a small size is of many calls, so that the clock's own time does not count.
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
  bench.add(bench.measure(id, what, bytes, contestants, bytes >= kMiB ? share : above));
}

}  // namespace

void pinned_copies(Bench& bench) {
  std::vector<std::string> names = {"library", "cuMemcpy"};
  if (bench.runtime.there()) names.push_back("cudaMemcpy");
  bench.section("Copies, page-locked", names);
  for (std::size_t bytes = 4 * kKiB; bytes <= std::min(bench.settings.largest, kGiB); bytes *= 4) {
    if (!bench.fits(bytes, bytes)) return bench.say("There is no room for " + readable_bytes(bytes) + ".");
    const Subject subject(bench.library, bytes, true);
    if (!subject.pinned()) return bench.say("Blocks of " + readable_bytes(bytes) + " are not page-locked here.");
    for (const bool to_device : {true, false}) copy(bench, subject, to_device);
  }
}
