#include "random.hpp"
#include "rows.hpp"

void random_rows(Bench& bench) {
  for (const char* sizes : {"even", "small"}) {
    const std::string id = std::string("random.") + sizes;
    const bool even = id == "random.even";
    const std::string what = std::string("100 objects of random sizes up to 1 MiB") + (even ? "" : ", most of them small");
    bench.run({20, 5, false}, {id, "ns", what + ", each"},
              {"fresh",
               {"random", sizes},
               id + ".peak",
               what + ", most resident at once",
               id + ".faults",
               what + ", page faults of " + std::to_string(RandomSizes::kStep)});
  }
}
