// Page-locked memory by the driver, and by registering a mapping: acquired, given back, copied. First without the
// library, then by a second copy of it with SYNCEDMEM_PINNED_BLOCKS=registered, last syncedmem_pin.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "arena.hpp"
#include "page_locked.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "sections.hpp"
#include "subject_bytes.hpp"
#include "work.hpp"

namespace {

const std::size_t kSizes[] = {4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB};
const double kWorthIt = 1.3, kAsFast = 1.03;

// The sizes that fit; a line for the others.
std::vector<std::size_t> sizes(const Bench& bench, const std::string& what) {
  std::vector<std::size_t> result;
  for (const std::size_t bytes : kSizes) {
    if (bytes <= std::max(bench.largest(256 * kMiB), kSizes[0]) && bench.fits(bytes, 4 * bytes)) {
      result.push_back(bytes);
    } else {
      report::skipped(what + " of " + readable_bytes(bytes), "no room, or larger than --largest");
    }
  }
  return result;
}

std::vector<std::string> names(const std::vector<Way>& ways) {
  std::vector<std::string> result;
  for (const Way way : ways) result.push_back(name_of(way));
  return result;
}

// The ways that this machine does not refuse.
std::vector<Way> usable_ways(const Driver& driver) {
  std::vector<Way> result;
  for (const Way way : {kAllocated, kRegisteredHuge, kRegisteredSmall}) {
    if (void* const address = acquire(driver, way, kSizes[0])) {
      give_back(driver, way, address, kSizes[0]);
      result.push_back(way);
    } else {
      report::skipped(name_of(way), "cuMemHostRegister refuses it here");
    }
  }
  return result;
}

// Ends the program if the block cannot be had: this way worked before.
void* must_acquire(const Driver& driver, Way way, std::size_t bytes) {
  void* const address = acquire(driver, way, bytes);
  if (address == nullptr) die(std::string(name_of(way)) + " of " + readable_bytes(bytes) + " is refused");
  return address;
}

// Acquired in one row, given back in the next.
void raw_life(Bench& bench, const std::vector<Way>& ways, const std::vector<std::size_t>& all) {
  bench.section("Page-locked memory, acquired with every page there, and given back", names(ways));
  for (const std::size_t bytes : all) {
    std::vector<std::vector<double>> given_back(ways.size());
    std::vector<Contestant> contestants;
    for (std::size_t i = 0; i < given_back.size(); ++i) {
      const Way way = ways[i];
      contestants.push_back({name_of(way), [&bench, &given_back, way, i, bytes] {
                               const Watch acquiring;
                               void* const address = must_acquire(bench.driver, way, bytes);
                               const double taken = acquiring.nanoseconds();
                               const Watch giving_back;
                               give_back(bench.driver, way, address, bytes);
                               given_back[i].push_back(giving_back.nanoseconds());
                               return taken;
                             }});
    }
    const std::string id = "ways." + std::to_string(bytes);
    if (!bench.row(id + ".acquire", readable_bytes(bytes) + " acquired", 0, contestants)) continue;
    Row row = bench.last();
    row.id = id + ".give_back";
    row.description = readable_bytes(bytes) + " given back";
    for (std::size_t i = 0; i < given_back.size(); ++i) {
      // The first was for warming up.
      row.times[i] = spread(std::vector<double>(given_back[i].begin() + 1, given_back[i].end()));
    }
    bench.add(row);
  }
}

// Copies of such memory by cuMemcpy, with a check of their bytes.
void raw_copies(Bench& bench, const std::vector<Way>& ways, const std::vector<std::size_t>& all) {
  bench.section("cuMemcpy of such memory", names(ways));
  std::string huge;
  for (const std::size_t bytes : all) {
    void* const device = bench.driver.allocate(bytes);
    std::vector<void*> blocks;
    for (const Way way : ways) blocks.push_back(must_acquire(bench.driver, way, bytes));
    for (const bool to_device : {true, false}) {
      std::vector<Contestant> contestants;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        void *const to = to_device ? device : blocks[i], *const from = to_device ? blocks[i] : device;
        contestants.push_back(
            {name_of(ways[i]), [=, &bench] { return raw_copy(bench.driver, bench.driver, to, from, bytes, 1); }});
      }
      bench.row(std::string("ways.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes),
                readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes, contestants);
    }
    Pattern pattern;
    pattern.reserve(bytes);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const unsigned char* const expected = pattern.next();
      std::memcpy(blocks[i], expected, bytes);
      bench.driver.copy(device, blocks[i], bytes);
      std::memset(blocks[i], kPoison, bytes);
      bench.driver.copy(blocks[i], device, bytes);
      const std::string wrong = difference(blocks[i], expected, bytes);
      if (wrong.empty()) report::passed();
      else report::failed(std::string("bytes of ") + name_of(ways[i]), wrong);
    }
    const long on_huge = ways.size() > 1 ? huge_bytes(blocks[1]) : -1;
    huge += (huge.empty() ? "" : ", ") + readable_bytes(bytes) + ": " +
            (on_huge < 0 ? "not known" : readable_bytes(static_cast<std::size_t>(on_huge)));
    for (std::size_t i = 0; i < blocks.size(); ++i) give_back(bench.driver, ways[i], blocks[i], bytes);
    bench.driver.free(device);
  }
  if (!huge.empty()) bench.say("On huge pages where they were advised: " + huge + ".");
}

// A block that the driver page-locks anew, and gets back.
double fresh(const Library& library, std::size_t bytes) {
  const Watch watch;
  acquire_pinned(library, bytes, 1);
  library.must(library.trim(SYNCEDMEM_MEMORY_PINNED), "trim");
  return watch.nanoseconds();
}

Library registering(const Bench& bench) {
  setenv("SYNCEDMEM_PINNED_BLOCKS", "registered", 1);
  const Library library = Library::again(bench.settings.library);
  // It reads the setting at its first block.
  fresh(library, kSizes[0]);
  unsetenv("SYNCEDMEM_PINNED_BLOCKS");
  return library;
}

std::size_t registrations(const Bench& bench, const Library& library) {
  const std::size_t before = bench.driver.calls("cuMemHostRegister");
  fresh(library, kSizes[0]);
  return bench.driver.calls("cuMemHostRegister") - before;
}

void of_the_library(Bench& bench, const std::vector<std::size_t>& all) {
  const char* const kSwitch = "SYNCEDMEM_PINNED_BLOCKS";
  const Library registered = registering(bench);
  bench.expect("page-locked blocks are registered where that is asked for", registrations(bench, registered) == 1);
  bench.expect("page-locked blocks are not registered by default", registrations(bench, bench.library) == 0);
  const std::vector<std::string> columns = {"library, registered", "library, allocated"};
  Pattern pattern;
  bool right = true;
  double least = 1e9, slowest = 0;
  std::size_t counted = 0;
  bench.section("The library's page-locked blocks, acquired fresh and given back, and copied", columns);
  for (const std::size_t bytes : all) {
    if (bench.row("library.fresh." + std::to_string(bytes), readable_bytes(bytes) + " fresh", 0,
                  {{columns[0], [&] { return fresh(registered, bytes); }},
                   {columns[1], [&] { return fresh(bench.library, bytes); }}})) {
      least = std::min(least, 1 / bench.last().ratio());
      ++counted;
    }
    const Subject one(registered, bytes, true), other(bench.library, bytes, true);
    if (!one.pinned() || !other.pinned()) return report::open_verdict(kSwitch, "blocks are not page-locked here");
    for (const bool to_device : {true, false}) {
      const auto copy = [&, to_device](const Subject& subject) {
        return to_device ? subject.to_device(bench.driver, 1) : subject.to_host(bench.driver, 1);
      };
      if (bench.row(std::string("library.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes),
                    readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes,
                    {{columns[0], [&] { return copy(one); }}, {columns[1], [&] { return copy(other); }}})) {
        slowest = std::max(slowest, bench.last().ratio());
      }
    }
    const Readback readback(bench.driver, bytes, true);
    pattern.reserve(bytes);
    for (const bool to_device : {true, false}) {
      right = compare_bytes(bench.driver, one, to_device, pattern.next(), readback.get(), "a registered block") && right;
      compare_bytes(bench.driver, other, to_device, pattern.next(), readback.get(), "an allocated block");
    }
  }
  if (counted == 0 || slowest == 0) return report::open_verdict(kSwitch, "nothing was measured");
  report::verdict(kSwitch, bench.driver.simulated, right && least >= kWorthIt && slowest <= kAsFast,
                  "registered blocks are fresh " + readable_number("%.2f", least) + " times as fast at least, over " +
                      std::to_string(counted) + " sizes, and copies of them take " + readable_number("%.3f", slowest) +
                      " of the time at most (on from 1.3 and up to 1.03)" + (right ? "" : "; bytes were WRONG"));
}

void pin(Bench& bench, const std::vector<std::size_t>& all) {
  bench.section("Page-locking a caller's buffer, and its end", {"syncedmem_pin, unpin", "cuMemHostRegister, Unregister"});
  for (const std::size_t bytes : all) {
    const Pageable buffer(bytes), other(bytes);
    void* const device = bench.driver.allocate(bytes);
    {
      const Subject subject(bench.library, bytes, buffer.get(), device);
      const Library& library = bench.library;
      bench.row("pin." + std::to_string(bytes), readable_bytes(bytes), 0,
                {{"library",
                  [&] {
                    const Watch watch;
                    library.must(library.pin(subject.object()), "pin");
                    library.must(library.unpin(subject.object()), "unpin");
                    return watch.nanoseconds();
                  }},
                 {"cuMemHostRegister", [&] {
                    const Watch watch;
                    if (const int status = bench.driver.register_host(other.get(), bytes)) {
                      die("cuMemHostRegister returned " + std::to_string(status));
                    }
                    bench.driver.unregister_host(other.get());
                    return watch.nanoseconds();
                  }}});
      library.must(library.pin(subject.object()), "pin");
      bench.expect("a buffer is page-locked by syncedmem_pin", bench.driver.is_page_locked(buffer.get()));
      library.must(library.unpin(subject.object()), "unpin");
      bench.expect("a buffer is page-locked no more after syncedmem_unpin", !bench.driver.is_page_locked(buffer.get()));
    }
    bench.driver.free(device);
  }
}

}  // namespace

void pinned_ways(Bench& bench) {
  const std::vector<std::size_t> all = sizes(bench, "page-locked memory");
  // Of the library's three rows a size, of the others one or two.
  bench.plan(all.size() * 7);
  of_the_library(bench, all);
  const std::vector<Way> ways = usable_ways(bench.driver);
  raw_life(bench, ways, all);
  raw_copies(bench, ways, all);
  if (ways.size() > 1) pin(bench, all);
  else report::skipped("syncedmem_pin", "cuMemHostRegister refuses it here");
}
