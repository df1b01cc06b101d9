// Page-locked blocks of 2 MiB and more, as the driver allocates them and as huge pages that it registers. The library is
// loaded once more for the latter: it takes that setting from the environment, once.
#include <algorithm>
#include <cstdlib>

#include "sections.hpp"
#include "watch.hpp"
#include "work.hpp"

namespace {

const std::size_t kSmallest = 2 * kMiB, kSizes[] = {kSmallest, 16 * kMiB, 256 * kMiB};

// A block that the driver page-locks, and gets back.
double fresh(const Library& library, std::size_t bytes) {
  const Watch watch;
  acquire_pinned(library, bytes, 1);
  library.must(library.trim(SYNCEDMEM_MEMORY_PINNED), "trim");
  return watch.nanoseconds();
}

Library registering(const Bench& bench) {
  setenv("SYNCEDMEM_PINNED_BLOCKS", "registered", 1);
  const Library library = Library::again(bench.settings.library);
  // It looks at its first block.
  fresh(library, kSmallest);
  unsetenv("SYNCEDMEM_PINNED_BLOCKS");
  return library;
}

std::size_t registrations(const Bench& bench, const Library& library) {
  const std::size_t before = bench.driver.calls("cuMemHostRegister");
  fresh(library, kSmallest);
  return bench.driver.calls("cuMemHostRegister") - before;
}

}  // namespace

void registered_blocks(Bench& bench) {
  const Library registered = registering(bench);
  bench.expect("page-locked blocks are registered where that is asked for", registrations(bench, registered) == 1);
  bench.expect("page-locked blocks are not registered by default", registrations(bench, bench.library) == 0);
  const std::vector<std::string> names = {"registered", "allocated"};
  std::vector<std::size_t> sizes;
  for (const std::size_t bytes : kSizes) {
    if (bytes <= std::max(bench.settings.largest, kSmallest) && bench.fits(2 * bytes, 3 * bytes)) sizes.push_back(bytes);
  }
  bool faster = !sizes.empty(), copies_as_fast = !sizes.empty();
  bench.section("Fresh page-locked blocks acquired and given back", names);
  for (const std::size_t bytes : sizes) {
    bench.add(bench.measure("registered_blocks.fresh." + std::to_string(bytes), readable_bytes(bytes), 0,
                            {{names[0], [&] { return fresh(registered, bytes); }},
                             {names[1], [&] { return fresh(bench.library, bytes); }}},
                            kNoBound));
    faster = faster && bench.last().ratio() <= 0.95;
  }
  bench.section("Copies of such blocks", names);
  for (const std::size_t bytes : sizes) {
    const Subject one(registered, bytes, true), other(bench.library, bytes, true);
    if (!one.pinned() || !other.pinned()) return bench.say(readable_bytes(bytes) + " are not page-locked here.");
    for (const bool to_device : {true, false}) {
      const auto copy = [&, to_device](const Subject& subject) {
        return to_device ? subject.to_device(bench.driver, 1) : subject.to_host(bench.driver, 1);
      };
      bench.add(bench.measure(
          std::string("registered_blocks.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes),
          readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes,
          {{names[0], [&] { return copy(one); }}, {names[1], [&] { return copy(other); }}}, kNoBound));
      copies_as_fast = copies_as_fast && bench.last().ratio() <= 1.03;
    }
  }
  registered.must(registered.trim(SYNCEDMEM_MEMORY_ALL), "trim");
  const std::string best = faster && copies_as_fast ? "registered" : "allocated";
  bench.say("Recommended here: `SYNCEDMEM_PINNED_BLOCKS=" + best + "`. Registered blocks are worth it where each size is " +
            "acquired in at most 0.95 of the time, and copied in at most 1.03 of it.");
  bench.conclude("recommended_pinned_blocks", best);
}
