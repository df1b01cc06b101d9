#include "sweep.hpp"

#include <cstdio>
#include <cstring>

#include "arena.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "staging.hpp"
#include "work.hpp"

namespace {

const std::size_t kThreads[] = {1, 2, 3, 4, 6, 8}, kSlotSizes[] = {kMiB, 2 * kMiB, 4 * kMiB};
const std::size_t kSizes[] = {kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB};

struct Shape {
  std::size_t threads, slot;
  std::string name() const { return std::to_string(threads) + " x " + readable_bytes(slot); }
};

std::vector<Shape> shapes() {
  std::vector<Shape> result;
  for (const std::size_t threads : kThreads) {
    for (const std::size_t slot : kSlotSizes) result.push_back({threads, slot});
  }
  return result;
}

// On a size that is no multiple of anything. False if bytes were wrong.
bool compare(const Bench& bench, Staging& staging, void* host, void* device, std::size_t largest) {
  const std::size_t bytes = std::min(largest, 16 * kMiB) - 4095;
  const Readback readback(bench.driver, bytes, true);
  Pattern pattern;
  pattern.reserve(bytes);
  bool right = true;
  for (const Shape& shape : shapes()) {
    for (const bool to_device : {true, false}) {
      const unsigned char* const expected = pattern.next();
      std::memcpy(to_device ? host : readback.get(), expected, bytes);
      if (to_device) bench.driver.fill(device, bytes, kPoison);
      else bench.driver.copy(device, readback.get(), bytes);
      std::memset(to_device ? readback.get() : host, kPoison, bytes);
      staging.copy(shape.threads, shape.slot, to_device, host, device, bytes);
      if (to_device) bench.driver.copy(readback.get(), device, bytes);
      const std::string wrong = difference(to_device ? readback.get() : host, expected, bytes);
      if (wrong.empty()) report::passed();
      else report::failed("the staging loop, " + shape.name() + (to_device ? ", to the device" : ", to the host"), wrong);
      right = right && wrong.empty();
    }
  }
  return right;
}

void print(const Row& row, std::size_t raw, const std::vector<Shape>& all) {
  std::printf("\n%s, GB/s:", row.description.c_str());
  for (std::size_t i = 0; i < raw; ++i) std::printf(" %s %.2f;", row.names[i].c_str(), row.bandwidth(i));
  std::printf(" staged:\n\n| threads | slots of 1 MiB | 2 MiB | 4 MiB |\n|---|---:|---:|---:|");
  std::size_t best = raw;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 3 == 0) std::printf("\n| %zu |", all[i].threads);
    std::printf(" %.2f |", row.bandwidth(raw + i));
    if (row.times[raw + i].median < row.times[best].median) best = raw + i;
  }
  std::printf("\n\nBest: %s (threads x slot), %.2f GB/s, %.2f of %s.\n", row.names[best].c_str(), row.bandwidth(best),
              row.times[raw - 1].median / row.times[best].median, row.names[raw - 1].c_str());
  std::fflush(stdout);
}

}  // namespace

std::size_t sweep_rows(std::size_t largest) {
  std::size_t rows = 0;
  for (const std::size_t bytes : kSizes) rows += bytes <= largest ? 2 : 0;
  return rows;
}

void sweep_staging(Bench& bench, void* host, void* device, std::size_t largest) {
  Staging staging(bench.driver);
  bench.section("Threads and slots, by a staging loop of this program's", {});
  if (!compare(bench, staging, host, device, largest)) return;
  const std::vector<Shape> all = shapes();
  for (const std::size_t bytes : kSizes) {
    if (bytes > largest) continue;
    for (const bool to_device : {true, false}) {
      void *const to = to_device ? device : host, *const from = to_device ? host : device;
      std::vector<Contestant> contestants = {
          {"cuMemcpy", [=, &bench] { return raw_copy(bench.driver, bench.driver, to, from, bytes, 1); }}};
      if (bench.runtime.there()) {
        contestants.push_back(
            {"cudaMemcpy", [=, &bench] { return raw_copy(bench.runtime, bench.driver, to, from, bytes, 1); }});
      }
      const std::size_t raw = contestants.size();
      for (const Shape& shape : all) {
        contestants.push_back({shape.name(), [=, &staging] {
                                 const Watch watch;
                                 staging.copy(shape.threads, shape.slot, to_device, host, device, bytes);
                                 return watch.nanoseconds();
                               }});
      }
      Row row = {};
      const std::string what = readable_bytes(bytes) + (to_device ? " to the device" : " to the host");
      const std::string id = std::string("sweep.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes);
      if (!bench.measure(id, what, bytes, contestants, kNoBound, row)) continue;
      report::record(as_json(row));
      report::passed();
      print(row, raw, all);
    }
  }
}
