// Copies of a caller's pageable buffer. The library is loaded two more times for that, to stage every copy and none: it
// takes that setting from the environment alone, once.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "sections.hpp"
#include "work.hpp"

namespace {

// Fewer bytes than that are not swept, and from so many on the library has to be twice as fast.
const std::size_t kSmallest = 64 * kKiB, kLarge = 64 * kMiB;
const double kTwice = 2;

// A library for which SYNCEDMEM_STAGE_FROM was so when it looked.
Library staging_from(const Bench& bench, const char* bytes, const Pageable& buffer, void* device) {
  setenv("SYNCEDMEM_STAGE_FROM", bytes, 1);
  const Library library = Library::again(bench.settings.library);
  // It looks at its first copy.
  Subject(library, kSmallest, buffer.get(), device).to_device(bench.driver, 1);
  unsetenv("SYNCEDMEM_STAGE_FROM");
  return library;
}

// GB/s that a copy through slots cannot exceed.
struct Ceiling {
  double page_locked = 0, host = 0;
  int threads = 0;  // with which the host's is reached

  double lower() const { return std::min(page_locked, host); }
  std::string sentence() const {
    return "a page-locked copy reaches " + readable_number("%.1f GB/s", page_locked) + " and memcpy on " +
           std::to_string(threads) + " threads " + readable_number("%.1f GB/s", host);
  }
};

class Sweep {
 public:
  Sweep(Bench& bench, std::size_t largest)
      : bench_(bench),
        largest_(largest),
        buffer_(largest),
        device_(bench.driver.allocate(largest)),
        staged_(staging_from(bench, "1", buffer_, device_)),
        unstaged_(staging_from(bench, "0", buffer_, device_)) {}
  ~Sweep() { bench_.driver.free(device_); }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  void ceilings() {
    bench_.section("What bounds copies of pageable memory", {"time"});
    const std::size_t bytes = std::min(largest_, kLarge);
    void* pinned = bench_.driver.allocate_pinned(bytes);
    for (const bool to_device : {true, false}) {
      void *to = to_device ? device_ : pinned, *from = to_device ? pinned : device_;
      const std::string way = to_device ? "to_device" : "to_host";
      const Row row = bench_.measure(
          "ceiling." + way + ".page_locked",
          "cuMemcpy, page-locked, " + readable_bytes(bytes) + " " + spoken(to_device), bytes,
          {{"cuMemcpy", [=] { return raw_copy(bench_.driver, bench_.driver, to, from, bytes, 1); }}}, kNoBound);
      ceiling_[to_device].page_locked = row.bandwidth(0);
      bench_.add(row);
      for (int threads = 1; threads <= 4; ++threads) memcpy_ceiling(to_device, way, pinned, bytes / 4, threads);
    }
    bench_.driver.free_pinned(pinned);
  }

  void copies() {
    std::vector<std::string> names = {"library, staged", "cuMemcpy"};
    if (bench_.runtime.there()) names.push_back("cudaMemcpy");
    names.push_back("library, not staged");
    bench_.section("Copies, pageable", names);
    for (std::size_t bytes = kSmallest; bytes <= largest_; bytes *= 2) {
      for (const bool to_device : {true, false}) copy(bytes, to_device);
    }
  }

  // From where on staging gains a twentieth at least, whatever the size.
  void conclude() {
    std::size_t from[2] = {0, 0};
    for (const bool to_device : {true, false}) {
      const std::map<std::size_t, double>& ratios = ratios_[to_device];
      for (auto at = ratios.rbegin(); at != ratios.rend() && at->second <= 0.95; ++at) from[to_device] = at->first;
    }
    const std::size_t both = from[0] && from[1] ? std::max(from[0], from[1]) : 0;
    bench_.say("Staging pays " + where(from[1]) + " to the device, and " + where(from[0]) +
               " to the host. Recommended here: `SYNCEDMEM_STAGE_FROM=" + std::to_string(both) + "`" +
               (both ? " (" + readable_bytes(both) + ")." : " (never)."));
    bench_.conclude("recommended_stage_from", std::to_string(both));
  }

 private:
  static std::string spoken(bool to_device) { return to_device ? "to the device" : "to the host"; }

  static std::string where(std::size_t from) {
    return from ? "from " + readable_bytes(from) + " on" : std::string("at no size");
  }

  void memcpy_ceiling(bool to_device, const std::string& way, void* slots, std::size_t slot_bytes, int threads) {
    const std::size_t bytes = std::min(largest_, 4 * kLarge);
    const std::string number = std::to_string(threads);
    const Row row = bench_.measure(
        "ceiling." + way + ".memcpy." + number,
        "memcpy, " + std::string(to_device ? "into" : "out of") + " page-locked slots, threads: " + number, bytes,
        {{"memcpy", [=] { return host_copy(buffer_.get(), bytes, slots, slot_bytes, !to_device, threads); }}},
        kNoBound);
    if (row.bandwidth(0) > ceiling_[to_device].host) {
      ceiling_[to_device].host = row.bandwidth(0);
      ceiling_[to_device].threads = threads;
    }
    bench_.add(row);
  }

  void copy(std::size_t bytes, bool to_device) {
    const long calls = bytes >= kMiB ? 1 : 16;
    void* host = buffer_.get();
    void *to = to_device ? device_ : host, *from = to_device ? host : device_;
    const Subject staged(staged_, bytes, host, device_), unstaged(unstaged_, bytes, host, device_);
    const auto ours = [=](const Subject& subject) {
      return to_device ? subject.to_device(bench_.driver, calls) : subject.to_host(bench_.driver, calls);
    };
    std::vector<Contestant> contestants = {
        {"library, staged", [&] { return ours(staged); }},
        {"cuMemcpy", [=] { return raw_copy(bench_.driver, bench_.driver, to, from, bytes, calls); }}};
    if (bench_.runtime.there()) {
      contestants.push_back(
          {"cudaMemcpy", [=] { return raw_copy(bench_.runtime, bench_.driver, to, from, bytes, calls); }});
    }
    contestants.push_back({"library, not staged", [&] { return ours(unstaged); }});
    const std::size_t rival = contestants.size() - 2;
    const Bound twice = {Bound::kBandwidth, kTwice, rival};
    const std::string id =
        std::string(to_device ? "to_device." : "to_host.") + "pageable." + std::to_string(bytes);
    Row row = bench_.measure(id, readable_bytes(bytes) + " " + spoken(to_device), bytes, contestants,
                             bytes >= kLarge ? twice : kNoBound);
    ratios_[to_device][bytes] = row.times[0].median / row.times[1].median;
    row.reason = reason(row, ceiling_[to_device]);
    bench_.add(row);
    judge_calls(staged, unstaged, to_device, bytes);
  }

  // Twice is too much to ask where the device's link or the host's memory is not so fast. Three quarters of the slower
  // of the two are asked for then: each moves the same bytes, and the host's memory serves both at once. A ceiling
  // below what the rival reaches was not measured well, and is no reason.
  static std::string reason(const Row& row, const Ceiling& ceiling) {
    const double kWithinReach = 0.75, reach = kWithinReach * ceiling.lower(), rival = row.bandwidth(row.other());
    const bool in_vain = kTwice * rival > reach && ceiling.lower() >= rival;
    return in_vain && row.bandwidth(0) >= reach ? ceiling.sentence() : "";
  }

  void judge_calls(const Subject& staged, const Subject& unstaged, bool to_device, std::size_t bytes) {
    const auto pieces = [&](const Subject& subject) {
      const std::size_t before = bench_.driver.calls("cuMemcpyAsync");
      to_device ? subject.to_device(bench_.driver, 1) : subject.to_host(bench_.driver, 1);
      return bench_.driver.calls("cuMemcpyAsync") - before;
    };
    const std::string what = readable_bytes(bytes) + " " + spoken(to_device);
    bench_.expect(what + " goes through slots if that is wanted", pieces(staged) > 0);
    bench_.expect(what + " goes through no slots if that is not wanted", pieces(unstaged) == 0);
  }

  Bench& bench_;
  const std::size_t largest_;
  const Pageable buffer_;
  void* const device_;
  const Library staged_, unstaged_;
  // Each by whether the copy is to the device; the ratios, of the staged copy to cuMemcpy, by size.
  Ceiling ceiling_[2];
  std::map<std::size_t, double> ratios_[2];
};

}  // namespace

void pageable_copies(Bench& bench) {
  std::size_t largest = kSmallest;
  while (largest * 2 <= bench.settings.largest && bench.fits(largest * 2, largest * 2)) largest *= 2;
  Sweep sweep(bench, largest);
  sweep.ceilings();
  sweep.copies();
  sweep.conclude();
}
