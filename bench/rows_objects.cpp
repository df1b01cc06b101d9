#include <utility>

#include "child.hpp"
#include "rows.hpp"
#include "work.hpp"

void call_rows(Bench& bench) {
  const long calls = 200000;
  bench.run(100, {{"cpu_data", "ns", "cpu_data(), nothing to do"}},
            [=](const Library& l) { return std::vector<double>{ready_cpu_data(l, calls)}; });
  bench.run(100, {{"mutable_cpu_data", "ns", "mutable_cpu_data(), nothing to do"}},
            [=](const Library& l) { return std::vector<double>{ready_mutable_cpu_data(l, calls)}; });
  bench.run(100, {{"construct", "ns", "construct and destroy, untouched"}},
            [=](const Library& l) { return std::vector<double>{construct_destroy(l, calls)}; });
}

void cached_rows(Bench& bench) {
  for (const std::size_t bytes : {64 * kKiB, kMiB, 16 * kMiB, 64 * kMiB}) {
    const std::string id = "cached." + std::to_string(bytes);
    const std::string what = "acquire to overwrite, release: " + readable(bytes);
    bench.run(50, {{id, "ns", what}},
              [=](const Library& l) { return std::vector<double>{acquire_release(l, bytes, 1000)}; });
    const Settings& settings = bench.settings();
    bench.run(Effort{1, 1, false}, {{id + ".calls", "count", what + ": system calls"}},
              [=, &settings](const Library& l) { return calls_of_cycle(settings.command, l, bytes); });
  }
}

namespace {

// At the start, where the allocator's own header may be resident anyway, and in the middle.
void one_byte_of_a_gibibyte(Bench& bench) {
  const std::pair<const char*, std::size_t> places[] = {{"first", 0}, {"middle", kGiB / 2}};
  for (const std::pair<const char*, std::size_t>& place : places) {
    const std::string id = std::string("one_byte.") + place.first;
    const std::string what = "1 GiB, the " + std::string(place.first) + " byte touched";
    const std::size_t at = place.second;
    bench.run(50, {{id + ".time", "ns", what}},
              [=](const Library& l) { return std::vector<double>{one_byte(l, kGiB, at)}; });
    bench.run(10, {{id + ".resident", "bytes", what + ": resident growth"}},
              [=](const Library& l) { return std::vector<double>{one_byte_resident(l, kGiB, at)}; });
  }
}

}  // namespace

void touch_rows(Bench& bench) {
  // Enough calls to a sample that it lasts about a millisecond or more.
  struct Size {
    std::size_t bytes;
    long calls;
    int rounds;
  };
  const Size sizes[] = {{4, 20000, 100},     {4 * kKiB, 5000, 100}, {64 * kKiB, 300, 100}, {kMiB, 20, 100},
                        {16 * kMiB, 1, 50}, {64 * kMiB, 1, 25},    {kGiB, 1, 4}};
  for (const Size& size : sizes) {
    const std::string id = "touch." + std::to_string(size.bytes), what = "first touch, written in full: " + readable(size.bytes);
    const auto touch = [=](const Library& l) { return first_touch(l, size.bytes, size.calls); };
    if (size.bytes < kGiB) {
      bench.run(size.rounds, {{id, "ns", what}}, [=](const Library& l) { return std::vector<double>{touch(l)}; });
    } else {
      bench.run(size.rounds, {{id, "ns", what}, {id + ".faults", "count", what + ": page faults"}}, [=](const Library& l) {
        const double before = page_faults();
        const double time = touch(l);
        return std::vector<double>{time, page_faults() - before};
      });
    }
  }
  one_byte_of_a_gibibyte(bench);
}
