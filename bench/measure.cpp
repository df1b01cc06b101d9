// Does the same work on Caffe's original and on the library in turn, and prints every sample for report.py, separated by tabs: id, unit,
// description, the original's samples, the library's.
// usage: measure ORIGINAL LIBRARY ROUNDS [PREFIX…]    rows whose id begins with a prefix
//        measure LIBRARY even|small                   objects of random sizes, in their own process: the most bytes resident at once
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "library.hpp"

namespace {

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

// Nanoseconds of processor time of this process, on which other work on the machine has little effect.
double used() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Times calls in one loop for both libraries, which is never inlined, and is unrolled so that the calls dominate.
template <typename Pointer>
__attribute__((noinline, aligned(64))) double time_calls(Pointer (*call)(void*), void* object, long calls) {
  std::uintptr_t sum = 0;
  const double start = used();
#pragma GCC unroll 8
  for (long i = 0; i < calls; ++i) sum += reinterpret_cast<std::uintptr_t>(call(object));
  const double end = used();
  asm volatile("" : : "r"(sum));  // the results stay wanted
  return (end - start) / static_cast<double>(calls);
}

template <typename Pointer>
double ready(const Library& library, Pointer (*Library::*call)(void*)) {
  alignas(16) char object[64];
  library.construct(object, 4096);
  library.mutable_cpu_data(object);
  const double sample = time_calls<Pointer>(library.*call, object, 200000);
  library.destroy(object);
  return sample;
}

// Makes an object, writes all of it, and ends it.
double first_touch(const Library& library, std::size_t bytes, long calls) {
  alignas(16) char object[64];
  const double start = used();
  for (long i = 0; i < calls; ++i) {
    library.construct(object, bytes);
    std::memset(library.mutable_cpu_data(object), 0x5A, bytes);
    library.destroy(object);
  }
  return (used() - start) / static_cast<double>(calls);
}

struct Row {
  std::string id, description;
  std::function<double(const Library&)> work;
};

std::vector<Row> rows() {
  std::vector<Row> all = {
      {"cpu_data", "cpu_data(), nothing to do", [](const Library& l) { return ready(l, &Library::cpu_data); }},
      {"mutable_cpu_data", "mutable_cpu_data(), nothing to do",
       [](const Library& l) { return ready(l, &Library::mutable_cpu_data); }}};
  // A sample lasts a millisecond or more.
  const struct {
    std::size_t bytes;
    const char* name;
    long calls;
  } sizes[] = {{4, "4 B", 20000},         {256, "256 B", 10000},     {4 * kKiB, "4 KiB", 5000}, {64 * kKiB, "64 KiB", 300},
               {kMiB, "1 MiB", 20},       {64 * kMiB, "64 MiB", 1}};
  for (const auto& size : sizes) {
    all.push_back({"touch." + std::to_string(size.bytes), std::string("first touch, written in full: ") + size.name,
                   [size](const Library& l) { return first_touch(l, size.bytes, size.calls); }});
  }
  return all;
}

void print(const std::vector<double>& samples) {
  std::putchar('\t');
  for (const double sample : samples) std::printf("%.3f ", sample);
}

// Order: original, library, library, original. Each runs once untimed before it is timed, so that a sample finds its own library's state.
void measure(const Row& row, const Library& original, const Library& library, int rounds) {
  std::fprintf(stderr, "    %s\n", row.description.c_str());
  std::vector<double> samples[2];
  for (int round = 0; round <= rounds; ++round) {
    for (const int side : {0, 1, 1, 0}) {
      const Library& of = side == 0 ? original : library;
      row.work(of);
      const double sample = row.work(of);
      if (round > 0) samples[side].push_back(sample);  // the first round faults in code
    }
  }
  std::printf("%s\tns\t%s", row.id.c_str(), row.description.c_str());
  print(samples[0]);
  print(samples[1]);
  std::putchar('\n');
  std::fflush(stdout);
}

// A figure of /proc/self/status in bytes.
double status(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "re");
  char line[256];
  double bytes = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0) bytes = std::strtod(line + std::strlen(name), nullptr) * 1024;
  }
  if (file != nullptr) std::fclose(file);
  return bytes;
}

// Makes and ends objects in a hundred places. Sizes go up to 1 MiB: all equally frequent, or, when small, equally many of each power of
// two from 4 KiB on.
double random_peak(const Library& library, bool even) {
  std::uint64_t random = 1;
  const auto below = [&random](std::size_t end) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % end;
  };
  struct Object {
    alignas(16) char storage[64];
    bool is_made;
  };
  std::vector<Object> objects(100, Object{{}, false});
  // Resets the peak, which may be that of loading. Some kernels cannot.
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "we")) {
    std::fputs("5", file);
    std::fclose(file);
  }
  const double before = status("VmRSS:");
  for (int i = 0; i < 80000; ++i) {
    Object& object = objects[below(objects.size())];
    if (object.is_made) library.destroy(object.storage);
    const std::size_t power = even ? 0 : (4 * kKiB) << below(8), bytes = even ? 1 + below(kMiB) : power + below(power);
    library.construct(object.storage, bytes);
    std::memset(library.mutable_cpu_data(object.storage), 0x5A, bytes);
    object.is_made = true;
  }
  return status("VmHWM:") - before;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: measure ORIGINAL LIBRARY ROUNDS [PREFIX...] | LIBRARY even|small\n");
    return 2;
  }
  // Caffe prefetches on other threads, and the C library's allocator is quicker in a process that has none.
  std::thread([] { pause(); }).detach();
  if (argc == 3) {
    std::printf("%.0f\n", random_peak(Library(argv[1]), std::string(argv[2]) == "even"));
    return 0;
  }
  const Library original(argv[1]), library(argv[2]);
  // The process runs on the last processor, because the first usually serves the interrupts.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &set)) --last;
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  const int rounds = std::atoi(argv[3]);
  for (const Row& row : rows()) {
    bool wanted = argc == 4;
    for (int i = 4; i < argc; ++i) wanted = wanted || row.id.compare(0, std::strlen(argv[i]), argv[i]) == 0;
    // Large rows take long, and vary little.
    const int large = row.id == "touch.67108864" ? 4 : 1;
    if (wanted) measure(row, original, library, rounds / large + 1);
  }
}
