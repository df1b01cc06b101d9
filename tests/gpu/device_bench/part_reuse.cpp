// Blocks that are handed out again: fresh data is zero, and work in flight does not reach the next owner.
#include <cstdio>
#include <cstring>

#include "arena.hpp"
#include "parts.hpp"
#include "pattern.hpp"
#include "report.hpp"

namespace {

typedef Driver::Status Status;
typedef Driver::Address Address;
const std::size_t kSizes[] = {1000, 4 * kKiB, 300000, 2 * kMiB, 64 * kMiB};

// From one of the accessors.
void* block(const Library& library, decltype(&syncedmem_mutable_gpu_data) access, syncedmem_t* object) {
  void* address = nullptr;
  library.must(access(object, &address), "access");
  return address;
}

void end(const Library& library, syncedmem_t* object) { library.must(library.destroy(object), "destroy"); }

syncedmem_t* made(const Library& library, std::size_t bytes) {
  syncedmem_t* object = nullptr;
  library.must(library.create(bytes, &object), "create");
  return object;
}

void judge(const std::string& what, const std::string& wrong) {
  if (wrong.empty()) report::passed();
  else report::failed(what, wrong);
}

// A block of other bytes is given back; the next object reads zeros.
void zeros(Bench& bench, std::size_t bytes, unsigned char* readback) {
  const Library& library = bench.library;
  const std::string what = "zeros in a block of " + readable_bytes(bytes) + " that is handed out again, ";
  for (int again = 0; again < 3; ++again) {
    syncedmem_t* object = made(library, bytes);
    void* const dirty = block(library, library.overwrite_gpu_data, object);
    bench.driver.fill(dirty, bytes, kPoison);
    end(library, object);
    object = made(library, bytes);
    void* const next = block(library, library.mutable_gpu_data, object);
    bench.driver.copy(readback, next, bytes);
    judge(what + "device", difference_from(readback, 0, bytes));
    end(library, object);
  }
  for (const int pinning : {SYNCEDMEM_PIN_ALWAYS, SYNCEDMEM_PIN_NEVER}) {
    library.must(library.set_pinning(pinning), "set_pinning");
    syncedmem_t* object = made(library, bytes);
    std::memset(block(library, library.overwrite_cpu_data, object), kPoison, bytes);
    end(library, object);
    object = made(library, bytes);
    const void* const next = block(library, library.mutable_cpu_data, object);
    judge(what + (pinning == SYNCEDMEM_PIN_ALWAYS ? "pinned" : "pageable"), difference_from(next, 0, bytes));
    end(library, object);
  }
}

// Busy for a while: what is queued behind has not run when a call returns.
class Busy {
 public:
  explicit Busy(const Bench& bench) : driver_(bench.driver), work_(bench.driver.allocate(kBytes)) {
    const unsigned kNonBlocking = 1;
    if (!driver_.entry("cuStreamCreate", create_) || !driver_.entry("cuStreamQuery", query_) ||
        !driver_.entry("cuStreamSynchronize", wait_) || !driver_.entry("cuMemsetD8Async", fill_) ||
        !driver_.entry("cuMemcpyAsync", copy_) || create_(&stream, kNonBlocking) != 0) {
      die("a stream cannot be had");
    }
    // The simulated driver's fills take no time.
    void (*lag)(unsigned);
    if (driver_.entry("simcuda_set_lag", lag)) lag(3000);
  }
  ~Busy() {
    wait_(stream);
    driver_.free(work_);
    void (*lag)(unsigned);
    if (driver_.entry("simcuda_set_lag", lag)) lag(0);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  // Tens of milliseconds of a GPU.
  void occupy() const {
    for (int i = 0; i < (driver_.simulated ? 2 : 400); ++i) must(fill_(number(work_), 0, kBytes, stream));
  }
  void fill(void* to, unsigned char value, std::size_t bytes) const { must(fill_(number(to), value, bytes, stream)); }
  void copy(void* to, const void* from, std::size_t bytes) const { must(copy_(number(to), number(from), bytes, stream)); }
  bool still() const { return query_(stream) == 600; }  // CUDA_ERROR_NOT_READY
  void wait() const { must(wait_(stream)); }

  void* stream = nullptr;

 private:
  static const std::size_t kBytes = 64 * kMiB;
  static Address number(const void* address) { return reinterpret_cast<Address>(address); }
  static void must(Status status) {
    if (status != 0) die("work for a stream was refused with " + std::to_string(status));
  }

  const Driver& driver_;
  void* const work_;
  Status (*create_)(void**, unsigned), (*query_)(void*), (*wait_)(void*);
  Status (*fill_)(Address, unsigned char, std::size_t, void*);
  Status (*copy_)(Address, Address, std::size_t, void*);
};

void judge(const std::string& what, bool in_flight, bool same_block, const std::string& wrong) {
  if (!wrong.empty()) return report::failed(what, wrong);
  if (!in_flight) return report::skipped(what, "the stream had ended before the block was given back");
  report::passed();
  std::printf("- %s: right, %s\n", what.c_str(), same_block ? "in the same block" : "in another block");
  std::fflush(stdout);
}

// The stream still writes the block when it is given back: the next object must not see that.
void device_block(Bench& bench, const Busy& busy, std::size_t bytes, unsigned char* readback) {
  const Library& library = bench.library;
  Pattern pattern;
  pattern.reserve(bytes);
  const unsigned char* const expected = pattern.next();
  std::memcpy(readback, expected, bytes);
  syncedmem_t* object = made(library, bytes);
  void* const first = block(library, library.overwrite_gpu_data, object);
  busy.occupy();
  busy.fill(first, kPoison, bytes);
  const bool in_flight = busy.still();
  end(library, object);
  object = made(library, bytes);
  void* const next = block(library, library.overwrite_gpu_data, object);
  bench.driver.copy(next, readback, bytes);
  busy.wait();
  std::memset(readback, 0x77, bytes);
  bench.driver.copy(readback, next, bytes);
  judge("a device block of " + readable_bytes(bytes) + " given back while a stream writes it", in_flight, next == first, difference(readback, expected, bytes));
  end(library, object);
}

// The stream still reads the block when it is given back: it must not see what the next object writes.
void pinned_block(Bench& bench, const Busy& busy, std::size_t bytes, unsigned char* readback) {
  const Library& library = bench.library;
  Pattern pattern;
  pattern.reserve(bytes);
  const unsigned char* const expected = pattern.next();
  library.must(library.set_pinning(SYNCEDMEM_PIN_ALWAYS), "set_pinning");
  void* const device = bench.driver.allocate(bytes);
  syncedmem_t* object = made(library, bytes);
  void* const first = block(library, library.overwrite_cpu_data, object);
  std::memcpy(first, expected, bytes);
  busy.occupy();
  busy.copy(device, first, bytes);
  const bool in_flight = busy.still();
  end(library, object);
  object = made(library, bytes);
  void* const next = block(library, library.overwrite_cpu_data, object);
  std::memset(next, kPoison, bytes);
  busy.wait();
  bench.driver.copy(readback, device, bytes);
  judge("a pinned block of " + readable_bytes(bytes) + " given back while a stream reads it", in_flight, next == first, difference(readback, expected, bytes));
  end(library, object);
  bench.driver.free(device);
}

}  // namespace

void reuse(Bench& bench) {
  const std::size_t largest = bench.largest(64 * kMiB);
  if (!bench.fits(6 * largest, 6 * largest)) return report::skipped("reuse", "no room for " + readable_bytes(largest));
  const Readback readback(bench.driver, largest, true);
  const Library& library = bench.library;
  std::puts("");
  for (const std::size_t bytes : kSizes) {
    if (bytes <= largest) zeros(bench, bytes, readback.get());
  }
  for (const std::size_t bytes : {kMiB, 64 * kMiB}) {
    if (bytes > largest) {
      report::skipped("reuse of " + readable_bytes(bytes), "larger than " + readable_bytes(largest), 2);
      continue;
    }
    device_block(bench, Busy(bench), bytes, readback.get());
    pinned_block(bench, Busy(bench), bytes, readback.get());
  }
  library.must(library.trim(SYNCEDMEM_MEMORY_ALL), "trim");
}
