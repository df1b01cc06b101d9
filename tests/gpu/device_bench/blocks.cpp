// Blocks acquired and released, beside the driver's calls, with the device idle and at work.
#include "report.hpp"
#include "sections.hpp"
#include "work.hpp"

namespace {

const std::size_t kSizes[] = {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB, kGiB}, kJudged = 16 * kMiB;
const std::size_t kBusySizes[] = {64 * kKiB, 16 * kMiB};
std::vector<Contestant> contestants(const Bench& bench, bool pinned, std::size_t bytes, long ours, long raw) {
  const auto pairs = pinned ? acquire_pinned : acquire_device;
  std::vector<Contestant> result = {{"library", [=, &bench] { return pairs(bench.library, bytes, ours); }}};
  if (pinned) {
    result.push_back({"cuMemHostAlloc", [=, &bench] { return raw_acquire_pinned(bench.driver, bytes, raw); }});
    if (!bench.runtime.there()) return result;
    result.push_back({"cudaMallocHost", [=, &bench] { return raw_acquire_pinned(bench.runtime, bytes, raw); }});
    return result;
  }
  result.push_back({"cuMemAlloc", [=, &bench] { return raw_acquire_device(bench.driver, bytes, raw); }});
  if (bench.runtime.there()) {
    result.push_back({"cudaMalloc", [=, &bench] { return raw_acquire_device(bench.runtime, bytes, raw); }});
  }
  if (bench.driver.has_pool()) {
    result.push_back({"cuMemAllocAsync", [=, &bench] {
                        const double taken = raw_acquire_device(Pool(bench.driver), bytes, ours);
                        // Its work on the stream must not count for the next.
                        bench.driver.synchronize();
                        return taken;
                      }});
  }
  return result;
}

std::vector<std::string> names(const std::vector<Contestant>& contestants) {
  std::vector<std::string> result;
  for (const Contestant& contestant : contestants) result.push_back(contestant.name);
  return result;
}

std::size_t allocating_calls(const Driver& driver) {
  std::size_t calls = 0;
  for (const char* function : {"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
                               "cuMemHostUnregister", "cuMemAllocAsync", "cuMemFreeAsync"}) {
    calls += driver.calls(function);
  }
  return calls;
}

// On the simulated driver: a block is handed out again without a call for memory.
void expect_no_calls(Bench& bench, bool pinned, std::size_t bytes) {
  const auto pairs = pinned ? acquire_pinned : acquire_device;
  pairs(bench.library, bytes, 1);
  const std::size_t before = allocating_calls(bench.driver);
  pairs(bench.library, bytes, 8);
  bench.expect(readable_bytes(bytes) + ", " + (pinned ? "pinned" : "device") + ": no block is allocated or freed",
               allocating_calls(bench.driver) == before);
}

void idle(Bench& bench, bool pinned) {
  const Library& library = bench.library;
  bench.section(std::string(pinned ? "Page-locked" : "Device") + " blocks acquired and released, the device idle",
                names(contestants(bench, pinned, kMiB, 1, 1)));
  const auto memory = pinned ? SYNCEDMEM_MEMORY_PINNED : SYNCEDMEM_MEMORY_DEVICE;
  for (const std::size_t bytes : kSizes) {
    const std::string id = std::string("acquire.") + (pinned ? "pinned." : "device.") + std::to_string(bytes);
    // The library keeps one block.
    if (bytes > bench.largest(kGiB) || !bench.fits(pinned ? 0 : 4 * bytes, pinned ? 3 * bytes : 0)) {
      report::skipped(id, "no room, or larger than --largest");
      continue;
    }
    library.must(library.trim(memory), "trim");
    expect_no_calls(bench, pinned, bytes);
    const Bound bound = {pinned ? 0.005 : 0.02, bench.runtime.there() ? 2u : 1u};
    const long raw = bytes >= kMiB ? 1 : 8;
    bench.row(id, readable_bytes(bytes), contestants(bench, pinned, bytes, 32, raw), bytes == kJudged ? bound : kNoBound);
    if (!pinned && bench.driver.has_pool()) bench.driver.empty_pool();
  }
  library.must(library.trim(memory), "trim");
}

// About a millisecond of work for the legacy default stream.
class Work {
 public:
  explicit Work(const Driver& driver) : driver_(driver), memory_(driver.allocate(kBytes)) {
    if (!driver.entry("cuMemsetD8Async", fill_)) die("the driver has no cuMemsetD8Async");
    start();
    driver.synchronize();
    const Watch watch;
    start();
    driver.synchronize();
    if (!driver.simulated) fills_ = std::max(1, std::min(500, static_cast<int>(1e6 / watch.nanoseconds())));
  }
  ~Work() { driver_.free(memory_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  void start() const {
    for (int i = 0; i < fills_; ++i) fill_(reinterpret_cast<Driver::Address>(memory_), 0, kBytes, nullptr);
  }

 private:
  static const std::size_t kBytes = 32 * kMiB;
  const Driver& driver_;
  void* const memory_;
  Driver::Status (*fill_)(Driver::Address, unsigned char, std::size_t, void*);
  int fills_ = 1;
};

void busy(Bench& bench, bool pinned) {
  const Work work(bench.driver);
  bench.section(std::string(pinned ? "Page-locked" : "Device") +
                    " blocks acquired and released twice, a millisecond of work on the default stream",
                names(contestants(bench, pinned, kMiB, 1, 1)));
  for (const std::size_t bytes : kBusySizes) {
    const std::string id = std::string("acquire.busy.") + (pinned ? "pinned." : "device.") + std::to_string(bytes);
    if (bytes > bench.largest(kGiB) || !bench.fits(5 * bytes, 5 * bytes)) {
      report::skipped(id, "no room, or larger than --largest");
      continue;
    }
    std::vector<Contestant> all = contestants(bench, pinned, bytes, 2, 2);
    for (Contestant& contestant : all) {
      const std::function<double()> once = contestant.once;
      contestant.once = [&work, &bench, once] {
        work.start();
        const double taken = once();
        bench.driver.synchronize();
        return taken;
      };
    }
    bench.row(id, readable_bytes(bytes), all);
  }
  bench.library.must(bench.library.trim(SYNCEDMEM_MEMORY_ALL), "trim");
}

}  // namespace

void blocks(Bench& bench) {
  if (bench.driver.has_pool()) bench.driver.keep_pool();
  bench.plan(2 * (sizeof kSizes + sizeof kBusySizes) / sizeof kSizes[0]);
  for (const bool pinned : {false, true}) {
    idle(bench, pinned);
    busy(bench, pinned);
  }
}
