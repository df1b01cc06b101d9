#include "rows.hpp"
#include "work.hpp"

void small_rows(Bench& bench) {
  const std::string what = "10 000 objects of 64 B to 4 KiB";
  const Effort effort = {25, 5, true};
  bench.run(effort, {"small.alive", "ns", what + ", all alive, each"}, {"settled", {"small", "alive"}, "", ""});
  bench.run(effort, {"small.one_by_one", "ns", what + ", in turn, each"}, {"settled", {"small", "one_by_one"}, "", ""});
}

void passing_rows(Bench& bench) {
  for (const std::string access : {"mutable", "overwrite"}) {
    const bool overwrite = access == "overwrite";
    const std::string suffix = overwrite ? ".overwrite" : "", words = overwrite ? ", to overwrite" : "";
    for (const std::size_t bytes : {64 * kKiB, kMiB, 16 * kMiB}) {
      bench.run({15, 3, true},
                {"hand_over." + std::to_string(bytes) + suffix, "ns",
                 "written here, read there: " + readable(bytes) + words},
                {"settled", {"hand_over", std::to_string(bytes), access}, "", ""});
    }
    bench.run({10, 3, true}, {"prefetch" + suffix, "ns", "16 images prefetched, each" + words},
              {"settled", {"prefetch", access}, "", ""});
  }
}

void thread_rows(Bench& bench) {
  struct Size {
    std::size_t bytes;
    long calls;
    int rounds;
  };
  const Size sizes[] = {{4 * kKiB, 5000, 25}, {64 * kKiB, 400, 25}, {kMiB, 20, 25}, {8 * kMiB, 4, 15}};
  const std::vector<int>& cpus = bench.settings().cpus;
  for (const Size& size : sizes) {
    const std::string id = "own." + std::to_string(size.bytes) + ".";
    const std::string what = readable(size.bytes) + " objects of their own";
    const std::vector<int> counts = {1, 2, 4, 8};
    std::vector<Figure> figures;
    for (const int count : counts) {
      figures.push_back({id + std::to_string(count), "ns", what + ", threads: " + std::to_string(count)});
    }
    figures.push_back({id + "scaling", "times", what + ": 8 threads' throughput over one's"});
    bench.run(size.rounds, figures, [=, &cpus](const Library& l) {
      std::vector<double> values;
      for (const int count : counts) values.push_back(own_objects(l, size.bytes, count, size.calls, cpus));
      values.push_back(8 * values.front() / values.back());
      return values;
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
