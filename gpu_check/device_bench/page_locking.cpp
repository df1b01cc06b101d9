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

}  // namespace

// What is asked for, and copies of the same buffer afterwards beside those of another one.
void page_locking(Bench& bench) {
  std::vector<Row> locked, copies[2];
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
      copies[to_device].push_back(bench.measure(
          std::string("page_locked.") + (to_device ? "to_device." : "to_host.") + std::to_string(bytes),
          readable_bytes(bytes) + (to_device ? " to the device" : " to the host"), bytes,
          {{"library",
            [&] { return to_device ? subject.to_device(bench.driver, 1) : subject.to_host(bench.driver, 1); }},
           {"cuMemcpy", [&] { return raw_copy(bench.driver, bench.driver, to, from, bytes, 1); }}},
          kNoBound));
      bench.add(copies[to_device].back());
    }
    bench.library.must(bench.library.unpin(subject.object()), "unpin");
    bench.expect("a buffer is page-locked no more after syncedmem_unpin", !bench.driver.is_page_locked(buffer.get()));
    bench.driver.free(device);
  }
  for (std::size_t i = 0; i < locked.size(); ++i) bench.say(break_even(locked[i], copies[1][i], copies[0][i]));
}
