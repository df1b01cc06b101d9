// Nanoseconds per call of the small driver calls of src/cuda/driver.rs, and of alternatives. The calls take turns, so
// that a change of speed affects all.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>

#include "memories.hpp"
#include "report.hpp"
#include "sections.hpp"

namespace {

typedef Driver::Status Status;
typedef Driver::Address Address;

struct Call {
  std::string name, memory;
  std::function<Status()> once;
  Status status;              // of the first call
  long batch;                 // calls that take about half a millisecond together
  std::vector<double> means;  // of batches
  std::vector<double> singles;
};

class Calls {
 public:
  explicit Calls(const Driver& driver) : driver_(driver) {}

  void add(const std::string& name, const std::string& memory, const std::function<Status()>& once) {
    all.push_back({name, memory, once, 0, 1, {}, {}});
  }
  // Without the entry point the row is skipped.
  template <typename Function>
  bool find(const char* symbol, Function& function) {
    if (driver_.entry(symbol, function)) return true;
    report::skipped(symbol, "this driver does not have it");
    return false;
  }

  std::vector<Call> all;

 private:
  const Driver& driver_;
};

void add_contexts(Calls& calls, const Driver& driver) {
  calls.add("(a call that does nothing: the cost of the measuring)", "", [] { return 0; });
  Status (*get)(void**), (*push)(void*), (*pop)(void**), (*device)(int*), (*synchronize)();
  Status (*retain)(void**, int), (*release)(int);
  Status (*id)(void*, std::uint64_t*), (*state)(int, unsigned*, int*), (*memory)(std::size_t*, std::size_t*);
  void* const context = driver.context;
  const int handle = driver.handle;
  if (calls.find("cuCtxGetCurrent", get)) calls.add("cuCtxGetCurrent", "", [=] { void* at; return get(&at); });
  if (calls.find("cuCtxPushCurrent_v2", push) && calls.find("cuCtxPopCurrent_v2", pop)) {
    calls.add("cuCtxPushCurrent + cuCtxPopCurrent", "", [=] {
      void* popped;
      const Status status = push(context);
      return status ? status : pop(&popped);
    });
  }
  if (calls.find("cuCtxGetDevice", device)) calls.add("cuCtxGetDevice", "", [=] { int at; return device(&at); });
  if (calls.find("cuCtxGetId", id)) {
    calls.add("cuCtxGetId", "", [=] { std::uint64_t number; return id(nullptr, &number); });
  }
  if (calls.find("cuCtxSynchronize", synchronize)) calls.add("cuCtxSynchronize, idle", "", [=] { return synchronize(); });
  if (calls.find("cuDevicePrimaryCtxRetain", retain) && calls.find("cuDevicePrimaryCtxRelease_v2", release)) {
    calls.add("cuDevicePrimaryCtxRetain + cuDevicePrimaryCtxRelease", "", [=] {
      void* at;
      const Status status = retain(&at, handle);
      return status ? status : release(handle);
    });
  }
  if (calls.find("cuDevicePrimaryCtxGetState", state)) {
    calls.add("cuDevicePrimaryCtxGetState", "", [=] { unsigned flags; int active; return state(handle, &flags, &active); });
  }
  if (calls.find("cuMemGetInfo_v2", memory)) {
    calls.add("cuMemGetInfo", "", [=] { std::size_t free, total; return memory(&free, &total); });
  }
}

// CU_POINTER_ATTRIBUTE_… of the library.
const struct {
  int number;
  const char* name;
} kAttributes[] = {{2, "MEMORY_TYPE"},    {7, "BUFFER_ID"},         {1, "CONTEXT"},
                   {9, "DEVICE_ORDINAL"}, {11, "RANGE_START_ADDR"}, {12, "RANGE_SIZE"}};

void add_pointers(Calls& calls, const Memories& memories) {
  Status (*one)(void*, int, Address), (*several)(unsigned, int*, void**, Address);
  const bool has_one = calls.find("cuPointerGetAttribute", one);
  const bool has_several = calls.find("cuPointerGetAttributes", several);
  for (const Memory& memory : memories.all()) {
    const Address address = reinterpret_cast<Address>(memory.address);
    for (const std::size_t which : {0, 1, 2, 3, 4, 5}) {
      if (!has_one) break;
      const int number = kAttributes[which].number;
      calls.add(std::string("cuPointerGetAttribute ") + kAttributes[which].name, memory.kind, [=] {
        std::uint64_t value = 0;
        return one(&value, number, address);
      });
    }
    // The library's attributes, one more at a time.
    const std::vector<std::vector<std::size_t>> together = {{0}, {0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 4, 5}, {0, 1, 2, 3}};
    for (const std::vector<std::size_t>& set : together) {
      if (!has_several) break;
      std::string name = "cuPointerGetAttributes";
      std::vector<int> numbers;
      for (const std::size_t which : set) {
        name += std::string(numbers.empty() ? " " : " + ") + kAttributes[which].name;
        numbers.push_back(kAttributes[which].number);
      }
      calls.add(name, memory.kind, [=] {
        int asked[4];
        std::copy(numbers.begin(), numbers.end(), asked);
        std::uint64_t values[4] = {};
        void* places[] = {&values[0], &values[1], &values[2], &values[3]};
        return several(static_cast<unsigned>(numbers.size()), asked, places, address);
      });
    }
  }
}

// Non-blocking.
struct Stream {
  void* handle = nullptr;
  void* event = nullptr;
};

void add_streams(Calls& calls, Stream& own) {
  Status (*create)(void**, unsigned), (*create_event)(void**, unsigned), (*destroy_event)(void*), (*record)(void*, void*);
  Status (*query_event)(void*), (*wait_event)(void*), (*follow)(void*, void*, unsigned), (*wait)(void*), (*query)(void*);
  Status (*context)(void*, void**), (*capturing)(void*, int*), (*exchange)(int*);
  Status (*info)(void*, int*, std::uint64_t*, void**, const void***, std::size_t*);
  const unsigned kNonBlocking = 1, kDisableTiming = 2;
  if (!calls.find("cuStreamCreate", create) || create(&own.handle, kNonBlocking) != 0) return;
  if (!calls.find("cuEventCreate", create_event) || create_event(&own.event, kDisableTiming) != 0) return;
  const Stream stream = own;
  if (calls.find("cuEventDestroy_v2", destroy_event)) {
    calls.add("cuEventCreate + cuEventDestroy", "", [=] {
      void* event;
      const Status status = create_event(&event, kDisableTiming);
      return status ? status : destroy_event(event);
    });
  }
  if (calls.find("cuEventRecord", record)) {
    record(stream.event, stream.handle);
    calls.add("cuEventRecord, legacy stream", "", [=] { return record(stream.event, nullptr); });
    calls.add("cuEventRecord, non-blocking stream", "", [=] { return record(stream.event, stream.handle); });
  }
  if (calls.find("cuEventQuery", query_event)) calls.add("cuEventQuery", "", [=] { return query_event(stream.event); });
  if (calls.find("cuEventSynchronize", wait_event)) {
    calls.add("cuEventSynchronize, done", "", [=] { return wait_event(stream.event); });
  }
  if (calls.find("cuStreamWaitEvent", follow)) {
    calls.add("cuStreamWaitEvent, done", "", [=] { return follow(stream.handle, stream.event, 0); });
  }
  if (calls.find("cuStreamSynchronize", wait)) {
    calls.add("cuStreamSynchronize, legacy, idle", "", [=] { return wait(nullptr); });
    calls.add("cuStreamSynchronize, non-blocking, idle", "", [=] { return wait(stream.handle); });
  }
  if (calls.find("cuStreamQuery", query)) {
    calls.add("cuStreamQuery, legacy", "", [=] { return query(nullptr); });
    calls.add("cuStreamQuery, non-blocking", "", [=] { return query(stream.handle); });
  }
  if (calls.find("cuStreamGetCtx", context)) {
    calls.add("cuStreamGetCtx", "", [=] { void* at; return context(stream.handle, &at); });
  }
  if (calls.find("cuStreamIsCapturing", capturing)) {
    calls.add("cuStreamIsCapturing, legacy", "", [=] { int is; return capturing(nullptr, &is); });
    calls.add("cuStreamIsCapturing, non-blocking", "", [=] { int is; return capturing(stream.handle, &is); });
  }
  if (calls.find("cuStreamGetCaptureInfo_v2", info)) {
    calls.add("cuStreamGetCaptureInfo", "", [=] {
      int is;
      return info(stream.handle, &is, nullptr, nullptr, nullptr, nullptr);
    });
  }
  if (calls.find("cuThreadExchangeStreamCaptureMode", exchange)) {
    const int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
    calls.add("cuThreadExchangeStreamCaptureMode, there and back", "", [=] {
      int mode = kRelaxed;
      const Status status = exchange(&mode);
      return status ? status : exchange(&mode);
    });
  }
}

void add_copies(Calls& calls, const Memories& memories, const Stream& stream) {
  Status (*copy)(Address, Address, std::size_t), (*copy_async)(Address, Address, std::size_t, void*);
  Status (*wait)(void*) = nullptr, (*fill)(Address, unsigned char, std::size_t);
  const Address device = reinterpret_cast<Address>(memories.of("device"));
  const bool has_async = calls.find("cuMemcpyAsync", copy_async) && calls.find("cuStreamSynchronize", wait);
  if (!calls.find("cuMemcpy", copy)) return;
  for (const Memory& memory : memories.all()) {
    if (memory.kind == "device") continue;
    const Address host = reinterpret_cast<Address>(memory.address);
    void* const own = stream.handle;
    calls.add("cuMemcpy 4 B to the device", memory.kind, [=] { return copy(device, host, 4); });
    calls.add("cuMemcpy 4 B to the host", memory.kind, [=] { return copy(host, device, 4); });
    if (!has_async || own == nullptr) continue;
    calls.add("cuMemcpyAsync 4 B to the device + cuStreamSynchronize", memory.kind, [=] {
      const Status status = copy_async(device, host, 4, own);
      return status ? status : wait(own);
    });
  }
  if (calls.find("cuMemsetD8_v2", fill)) calls.add("cuMemsetD8 4 B", "device", [=] { return fill(device, 0, 4); });
}

double timed(const Call& call, long count) {
  const Watch watch;
  for (long i = 0; i < count; ++i) call.once();
  return watch.nanoseconds() / static_cast<double>(count);
}

// Batches for the median, single calls for the 99th percentile, in turns.
void take_turns(std::vector<Call>& calls, const Bench& bench) {
  const double kBatch = bench.driver.simulated ? 2e4 : 5e5;
  const int kLeast = 2, kMost = 20, kSingles = 100;
  for (Call& call : calls) {
    call.status = call.once();
    const double once = std::max(1.0, timed(call, 8));
    call.batch = std::min(10000L, std::max(1L, static_cast<long>(kBatch / once)));
  }
  for (int turn = 0; turn < kMost && (turn < kLeast || bench.seconds_left() > 0); ++turn) {
    for (Call& call : calls) {
      call.means.push_back(timed(call, call.batch));
      const int singles = static_cast<int>(std::min<long>(kSingles, call.batch));
      for (int i = 0; i < singles; ++i) call.singles.push_back(timed(call, 1));
    }
  }
}

void print(const std::vector<Call>& calls) {
  std::puts("\n### Nanoseconds per call of the driver");
  std::puts("\nMedian: of the means of batches. p99: of calls that were timed one by one, the clock's own time included.");
  std::puts("\n| call | memory | median, ns | p99, ns | status |\n|---|---|---:|---:|---|");
  for (const Call& call : calls) {
    const double median = spread(call.means).median;
    std::vector<double> singles = call.singles;
    std::sort(singles.begin(), singles.end());
    const double p99 = singles[(singles.size() - 1) * 99 / 100];
    std::printf("| %s | %s | %.0f | %.0f | %s |\n", call.name.c_str(), call.memory.c_str(), median, p99,
                call.status == 0 ? "" : ("returns " + std::to_string(call.status)).c_str());
    report::record("\"call\": " + report::quoted(call.name) + ", \"memory\": " + report::quoted(call.memory) +
                   ", \"median\": " + readable_number("%.1f", median) + ", \"p99\": " + readable_number("%.1f", p99) +
                   ", \"status\": " + std::to_string(call.status));
    report::passed();
  }
  std::fflush(stdout);
}

}  // namespace

void calls(Bench& bench) {
  const Memories memories(bench.driver, 64 * kKiB);
  Calls calls(bench.driver);
  Stream stream;
  add_contexts(calls, bench.driver);
  add_pointers(calls, memories);
  add_streams(calls, stream);
  add_copies(calls, memories, stream);
  take_turns(calls.all, bench);
  print(calls.all);
  Driver::Status (*destroy)(void*);
  if (stream.handle != nullptr && bench.driver.entry("cuStreamDestroy_v2", destroy)) destroy(stream.handle);
}
