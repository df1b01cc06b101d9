#include "rows.hpp"

void small_rows(Bench& bench) {
  const std::string what = "10 000 objects of 64 B to 4 KiB";
  const Effort effort = {25, 5, true};
  bench.run(effort, {"small.alive", "ns", what + ", all alive, each"}, {"settled", {"small", "alive"}, "", "", "", ""});
  bench.run(effort, {"small.one_by_one", "ns", what + ", in turn, each"}, {"settled", {"small", "one_by_one"}, "", "", "", ""});
}

void passing_rows(Bench& bench) {
  for (const std::string access : {"mutable", "overwrite"}) {
    const bool overwrite = access == "overwrite";
    const std::string suffix = overwrite ? ".overwrite" : "", words = overwrite ? ", to overwrite" : "";
    for (const std::size_t bytes : {64 * kKiB, kMiB, 16 * kMiB}) {
      bench.run({15, 3, true},
                {"hand_over." + std::to_string(bytes) + suffix, "ns",
                 "written here, read there: " + readable(bytes) + words},
                {"settled", {"hand_over", std::to_string(bytes), access}, "", "", "", ""});
    }
    bench.run({10, 3, true}, {"prefetch" + suffix, "ns", "16 images prefetched, each" + words},
              {"settled", {"prefetch", access}, "", "", "", ""});
  }
}
