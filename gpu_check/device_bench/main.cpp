// Measures the library's device side beside the calls that it makes, alternating in one process, and prints a table
// in Markdown. What is timed is described in work.hpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "row.hpp"
#include "work.hpp"

namespace {

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

const char kUsage[] =
    "usage: device-bench [OPTION...]\n"
    "\n"
    "  --library PATH   the library to measure; default: libsyncedmem.so\n"
    "  --driver PATH    the CUDA driver; default: libcuda.so.1\n"
    "  --runtime PATH   the CUDA runtime to compare with as well, or none; default: the system's, if there is one\n"
    "  --device N       the device; default: 0\n"
    "  --largest BYTES  the largest size, with K, M or G; default: 1G, or what memory allows\n"
    "  --seconds N      about how long each row takes; default: 1\n"
    "  --json FILE      write the figures there as well\n"
    "  --check          exit with status 1, and a line for each, if a bound was missed\n"
    "\n"
    "Status 2: nothing could be measured. Sizes go from 4 KiB in steps of 4.\n";

struct Settings {
  std::string library = "libsyncedmem.so", driver = "libcuda.so.1", runtime, json;
  std::size_t largest = kGiB;
  double seconds = 1;
  int device = 0;
  bool check = false;
};

std::size_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  const std::size_t factor = unit == "K" ? kKiB : unit == "M" ? kMiB : unit == "G" ? kGiB : unit.empty() ? 1 : 0;
  if (end == text.c_str() || factor == 0) die("--largest: " + text + " is not a size such as 64M");
  return static_cast<std::size_t>(number) * factor;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "-h" || name == "--help") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (name == "--check") {
      settings.check = true;
      continue;
    }
    std::string* text = name == "--library"   ? &settings.library
                        : name == "--driver"  ? &settings.driver
                        : name == "--runtime" ? &settings.runtime
                        : name == "--json"    ? &settings.json
                                              : nullptr;
    const bool number = name == "--device" || name == "--largest" || name == "--seconds";
    if (text == nullptr && !number) die("unknown option: " + name + "; see --help");
    if (++i == argc) die(name + " needs a value; see --help");
    if (text != nullptr) *text = argv[i];
    if (name == "--device") settings.device = std::atoi(argv[i]);
    if (name == "--seconds") settings.seconds = std::atof(argv[i]);
    if (name == "--largest") settings.largest = bytes_of(argv[i]);
  }
  return settings;
}

// What the kernel says that it could give out without swapping.
std::size_t available_host_bytes() {
  unsigned long long kibibytes = 0;
  char line[256];
  std::FILE* file = std::fopen("/proc/meminfo", "r");
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return static_cast<std::size_t>(kibibytes) * kKiB;
}

class Bench {
 public:
  Bench(const Settings& settings, const Driver& driver, const Runtime& runtime, const Library& library)
      : settings_(settings), driver_(driver), runtime_(runtime), library_(library) {}

  const std::vector<Row>& rows() const { return rows_; }

  void everything() {
    section("Nothing to do", "library, gpu_data()", "library, cpu_data()", false);
    nothing_to_do();
    copies("Copies, page-locked", true);
    copies("Copies, pageable", false);
    section("Allocate and free a device block", "", "cuMemAlloc, cuMemFree", true);
    for (const std::size_t bytes : sizes(true, false)) allocations(bytes, false);
    section("Allocate and free a page-locked block", "", "cuMemHostAlloc, cuMemFreeHost", true);
    for (const std::size_t bytes : sizes(false, true)) allocations(bytes, true);
  }

 private:
  // Those of which a block fits on the device, on the host, or on both.
  std::vector<std::size_t> sizes(bool on_device, bool on_host) const {
    const std::size_t device = driver_.free_bytes();
    const std::size_t host = available_host_bytes();
    std::vector<std::size_t> result;
    for (std::size_t bytes = 4 * kKiB; bytes <= settings_.largest; bytes *= 4) {
      // A half more, since free memory lies in pieces.
      const std::size_t room = bytes + bytes / 2;
      if ((on_device && room > device) || (on_host && room > host)) {
        std::fprintf(stderr, "device-bench: no room for %s and more\n", readable_bytes(bytes).c_str());
        break;
      }
      result.push_back(bytes);
    }
    return result;
  }

  void section(const std::string& title, const std::string& first, const std::string& raw, bool with_runtime) {
    std::fprintf(stderr, "    %s\n", title.c_str());
    std::printf("\n### %s\n\n", title.c_str());
    if (!first.empty()) std::printf("The first column is %s.\n\n", first.c_str());
    std::puts(heading(raw, with_runtime && runtime_.there() ? "CUDA runtime" : "").c_str());
  }

  void add(Row row) {
    // A simulation is not fast or slow in the places where a GPU is.
    if (driver_.simulated && !settings_.check) row.bound.kind = Bound::kNone;
    rows_.push_back(row);
    std::puts(as_markdown(row).c_str());
    std::fflush(stdout);
  }

  void nothing_to_do() {
    const long kCalls = 20000;
    const Subject subject(library_, 4 * kKiB, true);
    add(measure("nothing_to_do", "gpu_data() beside cpu_data()", 0,
                {{"gpu_data", [&] { return subject.ready_gpu_data(kCalls); }},
                 {"cpu_data", [&] { return subject.ready_cpu_data(kCalls); }}},
                settings_.seconds, {Bound::kNoSlower, 1.05}));
  }

  void copies(const std::string& title, bool pinned) {
    section(title, "", "cuMemcpy", true);
    for (const std::size_t bytes : sizes(true, true)) {
      const Subject subject(library_, bytes, pinned);
      if (subject.pinned() != pinned) {
        std::printf("\n%s blocks are %spinned: not measured\n", readable_bytes(bytes).c_str(), pinned ? "not " : "");
        continue;
      }
      for (const bool to_device : {true, false}) copy(subject, to_device, pinned);
    }
  }

  void copy(const Subject& subject, bool to_device, bool pinned) {
    const std::size_t bytes = subject.bytes();
    // A sample of a small size is of many calls, so that the clock's own time does not count.
    const long calls = bytes >= kMiB ? 1 : 32;
    const auto ours = [&, calls, to_device] {
      return to_device ? subject.to_device(driver_, calls) : subject.to_host(driver_, calls);
    };
    const auto drivers = [&, calls, to_device] { return raw_copy(driver_, driver_, subject, to_device, calls); };
    const auto runtimes = [&, calls, to_device] { return raw_copy(runtime_, driver_, subject, to_device, calls); };
    std::vector<Contestant> contestants = {{"library", ours}, {"cuMemcpy", drivers}};
    if (runtime_.there()) contestants.push_back({"cudaMemcpy", runtimes});
    Bound bound = {Bound::kNone, 0};
    if (pinned && bytes >= kMiB) bound = {Bound::kBandwidth, 0.97};
    if (pinned && bytes < kMiB) bound = {Bound::kAbove, 300};
    const std::string id = std::string(to_device ? "to_device." : "to_host.") + (pinned ? "pinned." : "pageable.");
    const std::string what = readable_bytes(bytes) + (to_device ? " to the device" : " to the host");
    add(measure(id + std::to_string(bytes), what, bytes, contestants, settings_.seconds, bound));
  }

  void allocations(std::size_t bytes, bool pinned) {
    const long calls = bytes >= kMiB ? 1 : 8;
    const auto ours = [=] {
      return pinned ? allocate_pinned(library_, bytes, calls) : allocate_device(library_, bytes, calls);
    };
    const auto drivers = [=] {
      return pinned ? raw_allocate_pinned(driver_, bytes, calls) : raw_allocate_device(driver_, bytes, calls);
    };
    const auto runtimes = [=] {
      return pinned ? raw_allocate_pinned(runtime_, bytes, calls) : raw_allocate_device(runtime_, bytes, calls);
    };
    std::vector<Contestant> contestants = {{"library", ours}, {"driver", drivers}};
    if (runtime_.there()) contestants.push_back({"runtime", runtimes});
    const std::string id = std::string("allocate.") + (pinned ? "pinned." : "device.") + std::to_string(bytes);
    add(measure(id, readable_bytes(bytes), 0, contestants, settings_.seconds, {Bound::kNone, 0}));
  }

  const Settings& settings_;
  const Driver& driver_;
  const Runtime& runtime_;
  const Library& library_;
  std::vector<Row> rows_;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int judge(const std::vector<Row>& rows) {
  int kept = 0, missed = 0;
  for (const Row& row : rows) {
    if (row.bound.kind == Bound::kNone) continue;
    ++(row.kept() ? kept : missed);
    if (row.kept()) continue;
    const std::string ours = readable_time(row.times[0].median), theirs = readable_time(row.compared().median);
    std::printf("missed: %s: %s, and %s took %s; bound: %s\n", row.id.c_str(), ours.c_str(), row.names.back().c_str(),
                theirs.c_str(), row.bound_sentence().c_str());
  }
  std::printf("device-bench: %d bounds kept, %d missed\n", kept, missed);
  return missed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  // The driver first: the library finds it by its soname, wherever it was loaded from.
  const Driver driver(settings.driver, settings.device);
  const Runtime runtime(driver.simulated && settings.runtime.empty() ? "none" : settings.runtime, settings.device);
  const Library library(settings.library);
  const char* sentence = nullptr;
  if (library.cuda_status(&sentence) != SYNCEDMEM_SUCCESS) die(std::string("the library finds no GPU: ") + sentence);

  const std::vector<std::pair<std::string, std::string>> about = {
      {"device", driver.device_name},
      {"driver", "CUDA " + version_text(driver.version)},
      {"runtime", runtime.name},
      {"library", std::string("libsyncedmem ") + library.version()},
      {"simulated", driver.simulated ? "yes: the figures mean nothing" : "no"}};
  for (const std::pair<std::string, std::string>& line : about) {
    std::printf("- %s: %s\n", line.first.c_str(), line.second.c_str());
  }
  std::puts("\nTimes: median [10th - 90th percentile] of a call.");
  std::puts("Ratio: the library's median by the other's; below 1 is faster.");

  Bench bench(settings, driver, runtime, library);
  bench.everything();
  if (!settings.json.empty()) {
    std::FILE* file = std::fopen(settings.json.c_str(), "w");
    if (file == nullptr) die(settings.json + " cannot be written");
    std::fputs(as_json(bench.rows(), about).c_str(), file);
    std::fclose(file);
  }
  std::puts("");
  return settings.check ? judge(bench.rows()) : 0;
}
