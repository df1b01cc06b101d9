#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "sections.hpp"
#include "watch.hpp"
#include "work.hpp"

namespace {

double pin_and_unpin(const Library& library, const Subject& subject) {
  const Watch watch;
  library.must(library.pin(subject.object()), "pin");
  library.must(library.unpin(subject.object()), "unpin");
  return watch.nanoseconds();
}

double register_and_unregister(const Driver& driver, void* address, std::size_t bytes) {
  const Watch watch;
  driver.register_host(address, bytes);
  driver.unregister_host(address);
  return watch.nanoseconds();
}

std::vector<std::size_t> sizes(const Bench& bench) {
  std::vector<std::size_t> sizes;
  for (const std::size_t bytes : {kMiB, 16 * kMiB, 256 * kMiB}) {
    if (bytes <= bench.settings.largest && bench.fits(bytes, 2 * bytes)) sizes.push_back(bytes);
  }
  return sizes;
}

// After how many copies it has paid for itself.
std::string break_even(const Row& locking, const Row& to_device, const Row& to_host) {
  const auto gain = [](const Row& row) { return row.times[1].median - row.times[0].median; };
  const double both = (gain(to_device) + gain(to_host)) / 2;
  if (both <= 0) return locking.description + ": copies are no faster for it.";
  return locking.description + ": page-locking and its end have paid for themselves after " +
         readable_number("%.1f", locking.times[0].median / both) + " copies.";
}

// On request: what is asked for, and copies of the same buffer afterwards beside those of another one.
void on_request(Bench& bench) {
  std::vector<Row> locked, crossings[2];
  bench.section("Page-locking a caller's buffer", {"syncedmem_pin, unpin", "cuMemHostRegister, Unregister"});
  for (const std::size_t bytes : sizes(bench)) {
    const Pageable buffer(bytes), other(bytes);
    void* device = bench.driver.allocate(bytes);
    const Subject subject(bench.library, bytes, buffer.get(), device);
    locked.push_back(bench.measure(
        "page_lock." + std::to_string(bytes), readable_bytes(bytes), 0,
        {{"library", [&] { return pin_and_unpin(bench.library, subject); }},
         {"cuMemHostRegister", [&] { return register_and_unregister(bench.driver, other.get(), bytes); }}},
        kNoBound));
    bench.add(locked.back());
    bench.driver.free(device);
  }
  bench.section("Copies of that buffer", {"library, pinned", "cuMemcpy, pageable"});
  for (const std::size_t bytes : sizes(bench)) {
    const Pageable buffer(bytes), other(bytes);
    void* device = bench.driver.allocate(bytes);
    const Subject subject(bench.library, bytes, buffer.get(), device);
    bench.library.must(bench.library.pin(subject.object()), "pin");
    bench.expect("a buffer is page-locked by syncedmem_pin", bench.driver.is_page_locked(buffer.get()));
    for (const bool to_device : {true, false}) {
      void *to = to_device ? device : other.get(), *from = to_device ? other.get() : device;
      crossings[to_device].push_back(bench.measure(
          std::string("page_locked.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes),
          readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes,
          {{"library",
            [&] { return to_device ? subject.to_device(bench.driver, 1) : subject.to_host(bench.driver, 1); }},
           {"cuMemcpy", [&] { return raw_copy(bench.driver, bench.driver, to, from, bytes, 1); }}},
          kNoBound));
      bench.add(crossings[to_device].back());
    }
    bench.library.must(bench.library.unpin(subject.object()), "unpin");
    bench.expect("a buffer is page-locked no more after syncedmem_unpin", !bench.driver.is_page_locked(buffer.get()));
    bench.driver.free(device);
  }
  for (std::size_t i = 0; i < locked.size(); ++i) bench.say(break_even(locked[i], crossings[1][i], crossings[0][i]));
}

// A block of the library's own that keeps crossing.
void by_itself(Bench& bench) {
  const std::size_t bytes = std::max(std::min(bench.settings.largest, 64 * kMiB), 8 * kMiB);
  if (!bench.fits(bytes, 2 * bytes)) return;
  setenv("SYNCEDMEM_REGISTER_FROM", "1", 1);
  const Library library = Library::again(bench.settings.library);
  const Subject subject(library, bytes, false);
  const Watch watch;
  int copies = 1;
  double first = 0;
  while (!bench.driver.is_page_locked(subject.host()) && copies < 100) {
    const double taken = copies % 2 ? subject.to_host(bench.driver, 1) : subject.to_device(bench.driver, 1);
    if (copies++ == 1) first = taken;
    // The thread that registers needs the time that a program spends elsewhere.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const double elapsed = watch.nanoseconds();
  unsetenv("SYNCEDMEM_REGISTER_FROM");
  const bool locked = bench.driver.is_page_locked(subject.host());
  bench.section("A pageable block that keeps crossing", {});
  bench.expect("a block that keeps crossing is registered in place", locked);
  if (!locked) return bench.say(readable_bytes(bytes) + ": not registered in place, after 100 copies.");
  const double after = subject.to_host(bench.driver, 1);
  bench.say(readable_bytes(bytes) + ": registered in place after " + std::to_string(copies) + " copies, " +
            readable_time(elapsed) + " after the first; a copy to the host took " + readable_time(first) +
            " before and takes " + readable_time(after) + " now.");
}

}  // namespace

void page_locking(Bench& bench) {
  on_request(bench);
  by_itself(bench);
}
