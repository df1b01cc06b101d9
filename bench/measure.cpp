// Runs the same work on two libraries, alternating, and prints every sample for report.py:
//   about<TAB>name<TAB>value
//   row<TAB>id<TAB>unit<TAB>description<TAB>original's samples<TAB>library's samples
// usage: measure ORIGINAL LIBRARY [--quick] [--only PREFIX]
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "library.hpp"
#include "work.hpp"

namespace {

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Settings {
  bool quick = false;
  std::string only;
  std::vector<int> cpus;  // those this process may run on
};

// One value per figure that the work yields.
typedef std::function<std::vector<double>(const Library&)> Work;

struct Figure {
  std::string id, unit, description;
};

std::string readable(std::size_t bytes) {
  if (bytes >= kGiB) return std::to_string(bytes / kGiB) + " GiB";
  if (bytes >= kMiB) return std::to_string(bytes / kMiB) + " MiB";
  if (bytes >= kKiB) return std::to_string(bytes / kKiB) + " KiB";
  return std::to_string(bytes) + " B";
}

void print_samples(const std::vector<double>& samples) {
  std::putchar('\t');
  for (std::size_t i = 0; i < samples.size(); ++i) std::printf(i ? " %.3f" : "%.3f", samples[i]);
}

class Bench {
 public:
  Bench(const Library& original, const Library& library, const Settings& settings)
      : original_(original), library_(library), settings_(settings) {}

  void run(int rounds, const std::vector<Figure>& figures, const Work& work) {
    if (figures[0].id.compare(0, settings_.only.size(), settings_.only) != 0) return;
    if (settings_.quick) rounds = rounds / 5 < 3 ? 3 : rounds / 5;
    std::fprintf(stderr, "    %s\n", figures[0].description.c_str());
    std::vector<std::vector<double>> of_original(figures.size()), of_library(figures.size());
    for (int round = 0; round <= rounds; ++round) {
      // Round 0 faults in code, warms the allocator, and is thrown away.
      const bool keep = round > 0;
      take(work, original_, keep, of_original);
      take(work, library_, keep, of_library);
      take(work, library_, keep, of_library);
      take(work, original_, keep, of_original);
    }
    for (std::size_t i = 0; i < figures.size(); ++i) {
      std::printf("row\t%s\t%s\t%s", figures[i].id.c_str(), figures[i].unit.c_str(),
                  figures[i].description.c_str());
      print_samples(of_original[i]);
      print_samples(of_library[i]);
      std::putchar('\n');
    }
    std::fflush(stdout);
  }

 private:
  static void take(const Work& work, const Library& library, bool keep,
                   std::vector<std::vector<double>>& into) {
    // Once untimed, so that a sample finds what its own library left behind, not the other: a virtual
    // machine gives freed huge pages back to its host after a moment, and has to fault them in anew.
    work(library);
    const std::vector<double> values = work(library);
    for (std::size_t i = 0; keep && i < values.size(); ++i) into[i].push_back(values[i]);
  }

  const Library& original_;
  const Library& library_;
  const Settings& settings_;
};

void fast_paths(Bench& bench) {
  const long calls = 200000;
  bench.run(100, {{"cpu_data", "ns", "cpu_data(), nothing to do"}},
            [=](const Library& l) { return std::vector<double>{ready_cpu_data(l, calls)}; });
  bench.run(100, {{"mutable_cpu_data", "ns", "mutable_cpu_data(), nothing to do"}},
            [=](const Library& l) { return std::vector<double>{ready_mutable_cpu_data(l, calls)}; });
  bench.run(100, {{"construct", "ns", "construct and destroy, untouched"}},
            [=](const Library& l) { return std::vector<double>{construct_destroy(l, calls)}; });
}

void first_touches(Bench& bench) {
  // Enough calls to a sample that it lasts about a millisecond or more.
  struct Size {
    std::size_t bytes;
    long calls;
    int rounds;
  };
  const Size sizes[] = {{4, 20000, 100}, {4 * kKiB, 5000, 100}, {kMiB, 20, 100}, {64 * kMiB, 1, 25}, {kGiB, 1, 8}};
  for (const Size& size : sizes) {
    bench.run(size.rounds,
              {{"touch." + std::to_string(size.bytes), "ns",
                "first touch, written in full: " + readable(size.bytes)}},
              [=](const Library& l) { return std::vector<double>{first_touch(l, size.bytes, size.calls)}; });
  }
}

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

void threads(Bench& bench, const Settings& settings) {
  struct Size {
    std::size_t bytes;
    long calls;
    int rounds;
  };
  const Size sizes[] = {{4 * kKiB, 5000, 25}, {kMiB, 20, 25}, {8 * kMiB, 4, 15}};
  for (const Size& size : sizes) {
    for (const int count : {1, 2, 4, 8}) {
      bench.run(size.rounds,
                {{"own." + std::to_string(size.bytes) + "." + std::to_string(count), "ns",
                  readable(size.bytes) + " objects of their own, threads: " + std::to_string(count)}},
                [=](const Library& l) {
                  return std::vector<double>{own_objects(l, size.bytes, count, size.calls, settings.cpus)};
                });
    }
  }
  // Last of all: where readers race, the original leaks what the losers allocated.
  for (const std::size_t bytes : {4 * kKiB, kMiB}) {
    const std::string id = "readers." + std::to_string(bytes);
    const std::string what = "8 cold readers of one object, " + readable(bytes);
    bench.run(25, {{id, "ns", what}, {id + ".pointers", "count", what + ": pointers seen"}},
              [=](const Library& l) {
                const ColdRead read = cold_readers(l, bytes, 8, settings.cpus);
                return std::vector<double>{read.nanoseconds, read.pointers};
              });
  }
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

// A 1 GiB object is written in full: without this much free, the kernel would kill the run.
void require_memory() {
  const double free = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (free > 1.5 * static_cast<double>(kGiB)) return;
  std::fprintf(stderr, "bench: %.0f MiB of memory are free and 1536 MiB are needed\n", free / kMiB);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      settings.quick = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      settings.only = argv[++i];
    } else {
      paths.push_back(argv[i]);
    }
  }
  if (paths.size() != 2) {
    std::fprintf(stderr, "usage: measure ORIGINAL LIBRARY [--quick] [--only PREFIX]\n");
    return 2;
  }
  require_memory();
  settings.cpus = allowed_cpus();
  // The last one: the first usually serves the interrupts.
  const bool pinned = pin(settings.cpus.back());
  // Caffe prefetches on threads of its own, and the C library's allocator is quicker in a process
  // that has none: one idle thread makes every figure that of a process with threads.
  std::thread([] { pause(); }).detach();

  const Library original = load(paths[0]), library = load(paths[1]);
  std::printf("about\toriginal\t%s\nabout\tlibrary\t%s\n", original.path.c_str(), library.path.c_str());
  std::printf("about\toriginal_inner_calls\t%d\nabout\tlibrary_inner_calls\t%d\n", original.inner_calls,
              library.inner_calls);
  std::printf("about\tprocessors\t%zu\n", settings.cpus.size());
  std::printf("about\tpinned_to\t%s\n", pinned ? std::to_string(settings.cpus.back()).c_str() : "none");
  double empty[5];
  for (double& sample : empty) sample = empty_call(1000000);
  std::printf("about\tempty_call_ns\t%.3f\n", empty[4]);
  std::fflush(stdout);

  Bench bench(original, library, settings);
  fast_paths(bench);
  first_touches(bench);
  one_byte_of_a_gibibyte(bench);
  threads(bench, settings);
  return 0;
}
