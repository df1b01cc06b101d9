#include "rows.hpp"
#include "work.hpp"

namespace {

struct OwnObjects {
  std::size_t bytes;
  long calls;
  int rounds;
};

}  // namespace

void thread_rows(Bench& bench) {
  const std::vector<int>& cpus = bench.settings().cpus;
  const OwnObjects sizes[] = {{4 * kKiB, 5000, 25}, {64 * kKiB, 400, 25}, {kMiB, 20, 25}, {8 * kMiB, 4, 15}};
  for (const OwnObjects& size : sizes) {
    for (const int count : {1, 2, 4, 8}) {
      bench.run(size.rounds,
                {{"own." + std::to_string(size.bytes) + "." + std::to_string(count), "ns",
                  readable(size.bytes) + " objects of their own, threads: " + std::to_string(count)}},
                [=, &cpus](const Library& l) {
                  return std::vector<double>{own_objects(l, size.bytes, count, size.calls, cpus)};
                });
    }
  }
}

void scaling_rows(Bench& bench) {
  const std::vector<int>& cpus = bench.settings().cpus;
  // Long enough that threads which share a processor get their turns on it.
  const OwnObjects sizes[] = {{4 * kKiB, 80000, 6}, {64 * kKiB, 8000, 6}, {kMiB, 600, 6}};
  for (const OwnObjects& size : sizes) {
    const std::string id = "scaling." + std::to_string(size.bytes);
    const std::string what = "8 threads' throughput over one's: " + readable(size.bytes);
    bench.run({size.rounds, 2, false}, {{id, "times", what}, {id + ".share", "times", what + ", over plain writing's"}},
              [=, &cpus](const Library& l) {
                const double scaling = 8 * own_objects(l, size.bytes, 1, size.calls, cpus) /
                                       own_objects(l, size.bytes, 8, size.calls, cpus);
                // What processors allow depends on how many there are, and on who else wants them just now.
                const double allowed = 8 * own_blocks(size.bytes, 1, size.calls, cpus) /
                                       own_blocks(size.bytes, 8, size.calls, cpus);
                return std::vector<double>{scaling, scaling / allowed};
              });
  }
}

void reader_rows(Bench& bench) {
  const std::vector<int>& cpus = bench.settings().cpus;
  for (const std::size_t bytes : {4 * kKiB, kMiB}) {
    const std::string id = "readers." + std::to_string(bytes);
    const std::string what = "8 cold readers of one object, " + readable(bytes);
    bench.run(25, {{id, "ns", what}, {id + ".pointers", "count", what + ": pointers seen"}},
              [=, &cpus](const Library& l) {
                const ColdRead read = cold_readers(l, bytes, 8, cpus);
                return std::vector<double>{read.nanoseconds, read.pointers};
              });
  }
}
