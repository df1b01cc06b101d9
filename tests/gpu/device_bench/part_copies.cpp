// Every copy of the library's, compared with cuMemcpy: kinds of memory, directions, sizes, misaligned starts, threads.
#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>

#include "copies_compared.hpp"
#include "parts.hpp"
#include "report.hpp"

namespace {

const Kind kPageable = {"pageable, the caller's", Kind::kCallersPageable, false, false};
const Kind kOwnPageable = {"pageable, the object's", Kind::kOwnPageable, false, false};
const Kind kOwnPinned = {"pinned, the object's", Kind::kOwnPinned, false, false};
const Kind kPinned = {"pinned, the caller's", Kind::kCallersPinned, false, false};
const Kind kRegistered = {"registered by syncedmem_pin", Kind::kRegistered, false, false};
const Kind kManaged = {"pageable, and managed on the device", Kind::kCallersPageable, true, false};
const Kind kPushed = {"pinned, pushed and pulled", Kind::kOwnPinned, false, true};
const Kind kPushedPageable = {"pageable, pushed and pulled", Kind::kCallersPageable, false, true};

struct Start {
  std::size_t host, device;
};

// Compared together, for every kind before the next phase.
struct Phase {
  std::string name;
  std::vector<std::size_t> sizes;
  std::vector<Start> starts;
};

std::vector<std::size_t> powers(std::size_t from, std::size_t to) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = from; bytes <= to; bytes *= 2) sizes.insert(sizes.end(), {bytes - 1, bytes, bytes + 1});
  return sizes;
}

// Before those on several threads, which take longest.
std::vector<Phase> first_phases() {
  std::vector<Start> misaligned;
  for (const std::size_t host : {0, 1, 3, 63}) {
    for (const std::size_t device : {0, 1, 4}) misaligned.push_back({host, device});
  }
  return {{"1 B to 4 KiB",
           {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097},
           misaligned},
          {"64 KiB to 1 MiB", powers(64 * kKiB, kMiB), {{0, 0}, {1, 0}, {0, 1}, {3, 5}}},
          {"2 to 16 MiB", powers(2 * kMiB, 16 * kMiB), {{0, 0}, {3, 5}}}};
}

std::vector<Phase> last_phases() {
  return {{"32 and 64 MiB", powers(32 * kMiB, 64 * kMiB), {{0, 0}, {1, 1}}},
          {"1 GiB", {kGiB}, {{0, 0}}},
          {"128 to 512 MiB", {256 * kMiB, 512 * kMiB, 128 * kMiB}, {{0, 0}}}};
}

struct Stream {
  explicit Stream(const Driver& driver) {
    Driver::Status (*create)(void**, unsigned);
    const unsigned kNonBlocking = 1;
    if (!driver.entry("cuStreamCreate", create) || create(&handle, kNonBlocking) != 0) die("cuStreamCreate failed");
  }
  void* handle = nullptr;
};

class Copies {
 public:
  explicit Copies(Bench& bench) : bench_(bench), stream_(bench.driver), largest_(bench.largest(kGiB)) {}

  void compare(const std::vector<Kind>& kinds, const std::vector<Phase>& phases) {
    std::puts("\n| bytes | memory | copies compared | wrong | not compared |\n|---|---|---:|---:|---:|");
    for (const Phase& phase : phases) {
      for (const Kind& kind : kinds) {
        done_ = wrong_ = left_ = 0;
        compare(phase, kind);
        std::printf("| %s | %s | %u | %u | %u |\n", phase.name.c_str(), kind.name, done_, wrong_, left_);
        std::fflush(stdout);
      }
    }
  }

  void count_skipped() const {
    for (const auto& reason : reasons_) report::skipped("copies", reason.first, reason.second);
  }

 private:
  void leave_out(const std::string& reason, std::size_t copies) {
    left_ += static_cast<unsigned>(copies);
    reasons_[reason] += static_cast<unsigned>(copies);
  }

  void compare(const Phase& phase, const Kind& kind) {
    const std::vector<Start> starts = kind.own() ? std::vector<Start>{{0, 0}} : phase.starts;
    const std::size_t copies = 2 * starts.size();
    std::vector<std::size_t> sizes;
    for (const std::size_t bytes : phase.sizes) {
      if (bytes <= largest_) sizes.push_back(bytes);
      else leave_out("larger than " + readable_bytes(largest_), copies);
    }
    if (sizes.empty()) return;
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    if (bench_.seconds_left() <= 0) return leave_out("the time was up", sizes.size() * copies);
    if (!bench_.fits(most, 3 * most)) return leave_out("no room for " + readable_bytes(most), sizes.size() * copies);
    pattern_.reserve(most);
    const Arena arena(bench_.driver, kind, most);
    if (!arena.usable()) return leave_out("the driver has no managed memory", sizes.size() * copies);
    const Readback readback(bench_.driver, most + 2 * Arena::kGuard, true);
    for (const std::size_t bytes : sizes) {
      for (const Start start : starts) {
        if (bench_.seconds_left() > 0) compare(phase.name + ", " + kind.name, kind, arena, readback, bytes, start);
        else leave_out("the time was up", 2);
      }
    }
  }

  void compare(const std::string& name, const Kind& kind, const Arena& arena, const Readback& readback,
               std::size_t bytes, Start start) {
    const Compared compared(bench_.library, bench_.driver, kind, arena, bytes, start.host, start.device, stream_.handle);
    if (!compared.not_as_asked().empty()) return leave_out(compared.not_as_asked(), 2);
    const std::string where = std::to_string(bytes) + " B at " + std::to_string(start.host) + " on the host and " +
                              std::to_string(start.device) + " on the device";
    judge(name + ", to the device", where, compared.to_device(pattern_.next(), readback.get()));
    judge(name + ", to the host", where, compared.to_host(pattern_.next(), readback.get()));
  }

  void judge(const std::string& what, const std::string& where, const std::string& wrong) {
    ++done_;
    if (wrong.empty()) return report::passed();
    ++wrong_;
    report::failed(what, where + ": " + wrong);
  }

  Bench& bench_;
  const Stream stream_;
  const std::size_t largest_;
  Pattern pattern_;
  // Of this row, and those left out of all rows.
  unsigned done_ = 0, wrong_ = 0, left_ = 0;
  std::map<std::string, unsigned> reasons_;
};

// Each thread with objects, memory and a pattern of its own.
void compare_on_threads(Bench& bench, const Kind& kind) {
  const int kThreads = 4, kRounds = bench.driver.simulated ? 2 : 6;
  const std::size_t sizes[] = {64 * kKiB + 1, 300000, kMiB, 4 * kMiB - 1, 16 * kMiB + 1};
  const std::size_t largest = std::max(bench.largest(sizes[4]), sizes[0]);
  const std::string name = std::string("four threads at once, ") + kind.name;
  if (bench.seconds_left() <= 0) return report::skipped(name, "the time was up");
  if (!bench.fits(kThreads * largest, 3 * kThreads * largest)) return report::skipped(name, "no room");
  const Stream stream(bench.driver);
  const auto work = [&](int thread) {
    bench.driver.make_current();
    Pattern pattern;
    pattern.reserve(largest);
    for (int i = 0; i < 29 * thread; ++i) pattern.next();
    const Arena arena(bench.driver, kind, largest);
    const Readback readback(bench.driver, largest + 2 * Arena::kGuard, false);
    for (int round = 0; round < kRounds; ++round) {
      for (const std::size_t bytes : sizes) {
        if (bytes > largest) continue;
        const Compared compared(bench.library, bench.driver, kind, arena, bytes, 0, 0, stream.handle);
        for (const bool to_device : {true, false}) {
          const unsigned char* const expected = pattern.next();
          const std::string wrong = to_device ? compared.to_device(expected, readback.get())
                                              : compared.to_host(expected, readback.get());
          if (wrong.empty()) report::passed();
          else report::failed(name, std::to_string(bytes) + (to_device ? " B to the device: " : " B to the host: ") + wrong);
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  bench.say("Compared with cuMemcpy by " + name + ".");
}

// Several threads with these kinds in between.
void compare(Bench& bench, const std::vector<Kind>& kinds, const std::vector<Kind>& on_threads) {
  Copies copies(bench);
  copies.compare(kinds, first_phases());
  for (const Kind& kind : on_threads) compare_on_threads(bench, kind);
  copies.compare(kinds, last_phases());
  copies.count_skipped();
}

}  // namespace

void copies_with_defaults(Bench& bench) {
  compare(bench, {kPageable, kOwnPinned, kOwnPageable, kPinned, kRegistered, kManaged, kPushed, kPushedPageable},
          {kPageable, kOwnPinned, kPushed});
}
