#include "sections.hpp"
#include "work.hpp"

namespace {

struct Reuse {
  int value;
  const char* name;
};
const Reuse kReuses[] = {{SYNCEDMEM_REUSE_SYNCHRONISED, "synchronised"}, {SYNCEDMEM_REUSE_STREAM, "stream"}};
const std::size_t kSizes[] = {4 * kKiB, kMiB, 16 * kMiB, 256 * kMiB}, kJudged = 16 * kMiB;

std::vector<Contestant> device_contestants(const Bench& bench, std::size_t bytes) {
  const long calls = bytes >= kMiB ? 2 : 8, ours = 32;
  std::vector<Contestant> contestants = {
      {"library", [=, &bench] { return acquire_device(bench.library, bytes, ours); }},
      {"cuMemAlloc", [=, &bench] { return raw_acquire_device(bench.driver, bytes, calls); }}};
  if (bench.runtime.there()) {
    contestants.push_back({"cudaMalloc", [=, &bench] { return raw_acquire_device(bench.runtime, bytes, calls); }});
  }
  if (bench.driver.has_pool()) {
    contestants.push_back({"cuMemAllocAsync", [=, &bench] {
                             const double taken = raw_acquire_device(Pool(bench.driver), bytes, ours);
                             // What it left on the stream is not the next one's.
                             bench.driver.synchronize();
                             return taken;
                           }});
  }
  return contestants;
}

std::vector<Contestant> pinned_contestants(const Bench& bench, std::size_t bytes) {
  const long calls = bytes >= kMiB ? 1 : 8, ours = 32;
  std::vector<Contestant> contestants = {
      {"library", [=, &bench] { return acquire_pinned(bench.library, bytes, ours); }},
      {"cuMemHostAlloc", [=, &bench] { return raw_acquire_pinned(bench.driver, bytes, calls); }}};
  if (bench.runtime.there()) {
    contestants.push_back({"cudaMallocHost", [=, &bench] { return raw_acquire_pinned(bench.runtime, bytes, calls); }});
  }
  return contestants;
}

// Calls that acquire memory from the driver, or give it back.
std::size_t allocating_calls(const Driver& driver) {
  std::size_t calls = 0;
  for (const char* function : {"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
                               "cuMemHostUnregister", "cuMemAllocAsync", "cuMemFreeAsync"}) {
    calls += driver.calls(function);
  }
  return calls;
}

// One kind of block, in one mode of reuse.
void acquire(Bench& bench, bool pinned, const Reuse& reuse) {
  const Library& library = bench.library;
  library.must(library.set_reuse(reuse.value), "set_reuse");
  const auto contestants = pinned ? pinned_contestants : device_contestants;
  std::vector<std::string> names;
  for (const Contestant& contestant : contestants(bench, kMiB)) names.push_back(contestant.name);
  const std::string kind = pinned ? "pinned" : "device";
  bench.section(std::string(pinned ? "Page-locked" : "Device") + " blocks acquired and released, reuse: " + reuse.name,
                names);
  const auto memory = pinned ? SYNCEDMEM_MEMORY_PINNED : SYNCEDMEM_MEMORY_DEVICE;
  const auto pairs = pinned ? acquire_pinned : acquire_device;
  std::string not_kept;
  for (const std::size_t bytes : kSizes) {
    // The library keeps one, others take one each.
    if (bytes > bench.settings.largest || !bench.fits(pinned ? 0 : 4 * bytes, pinned ? 3 * bytes : 0)) continue;
    // Once, and it is kept for the next.
    library.must(library.trim(memory), "trim");
    pairs(library, bytes, 1);
    std::size_t idle = 0;
    library.must(library.idle_bytes(memory, &idle), "idle_bytes");
    if (idle < bytes) not_kept += (not_kept.empty() ? "" : ", ") + readable_bytes(bytes);
    const std::size_t before = allocating_calls(bench.driver);
    pairs(library, bytes, 8);
    bench.expect(readable_bytes(bytes) + ", " + kind + ", reuse " + reuse.name + ": no block is allocated or freed",
                 allocating_calls(bench.driver) == before);
    const Bound bound = {Bound::kShare, pinned ? 0.005 : 0.02, bench.runtime.there() ? 2u : 1u};
    bench.add(bench.measure("acquire." + kind + "." + std::to_string(bytes) + "." + reuse.name, readable_bytes(bytes),
                            0, contestants(bench, bytes), bytes == kJudged ? bound : kNoBound));
    if (!pinned && bench.driver.has_pool()) bench.driver.empty_pool();
  }
  if (!not_kept.empty()) bench.say("Not kept for the next object (no pools, or too small a budget): " + not_kept + ".");
  library.must(library.trim(memory), "trim");
  library.must(library.set_reuse(SYNCEDMEM_REUSE_SYNCHRONISED), "set_reuse");
}

}  // namespace

void device_blocks(Bench& bench) {
  if (bench.driver.has_pool()) bench.driver.keep_pool();
  for (const Reuse& reuse : kReuses) acquire(bench, false, reuse);
}

void pinned_blocks(Bench& bench) {
  for (const Reuse& reuse : kReuses) acquire(bench, true, reuse);
}
