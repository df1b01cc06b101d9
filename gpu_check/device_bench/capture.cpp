// The library while a stream is captured: in each mode, on the capturing thread and another, with a blocking stream or
// not. The library does what it may, refuses the rest with a sentence that names the capture, the capture stays whole,
// and its replay writes the right bytes.
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "captured.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "sections.hpp"

namespace {

const std::size_t kBytes = 3 * kMiB + 512;
const char* const kModes[] = {"global", "thread-local", "relaxed"};  // by the numbers of CUstreamCaptureMode

struct How {
  int mode;
  bool blocking, other_thread;

  std::string columns(const char* between) const {
    return std::string(kModes[mode]) + between + (blocking ? "blocking" : "non-blocking") + between +
           (other_thread ? "another thread" : "the same thread");
  }
};

std::vector<How> ways() {
  std::vector<How> result;
  for (const bool blocking : {false, true}) {
    for (int mode = 0; mode < 3; ++mode) {
      for (const bool other_thread : {false, true}) result.push_back({mode, blocking, other_thread});
    }
  }
  return result;
}

enum Expected {
  kDone,           // success, and the capture goes on
  kDoneAnyway,     // success; the capture may break, as the README says
  kDoneOrRefused,  // success, or an error that names the capture
  kRefused         // an error that names the capture
};

// Made before the capture, in the states that the operations need.
struct Objects {
  Objects(const Library& library, const Driver& driver, Pattern& pattern);
  ~Objects();
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  syncedmem_status_t destroy(syncedmem_t*& object) const {
    const syncedmem_status_t status = library.destroy(object);
    object = nullptr;
    return status;
  }

  const Library& library;
  const Driver& driver;
  const Readback readback;
  const unsigned char *to_device, *to_host;
  syncedmem_t *fresh = nullptr, *fresh_pinned = nullptr, *with_device = nullptr, *with_pinned = nullptr;
  syncedmem_t *on_host = nullptr, *on_device = nullptr;
};

Objects::Objects(const Library& the_library, const Driver& the_driver, Pattern& pattern)
    : library(the_library),
      driver(the_driver),
      readback(the_driver, kBytes, true),
      to_device(pattern.next()),
      to_host(pattern.next()) {
  library.must(library.set_pinning(SYNCEDMEM_PIN_ALWAYS), "set_pinning");
  for (syncedmem_t** object : {&fresh, &fresh_pinned, &with_device, &with_pinned, &on_host, &on_device}) {
    library.must(library.create(kBytes, object), "create");
  }
  void* data = nullptr;
  library.must(library.overwrite_gpu_data(with_device, &data), "overwrite_gpu_data");
  library.must(library.overwrite_cpu_data(with_pinned, &data), "overwrite_cpu_data");
  // With both sides allocated: a copy needs no block.
  for (syncedmem_t* object : {on_host, on_device}) {
    library.must(library.overwrite_gpu_data(object, &data), "overwrite_gpu_data");
    if (object == on_device) {
      std::memcpy(readback.get(), to_host, kBytes);
      driver.copy(data, readback.get(), kBytes);
    }
    library.must(library.mutable_cpu_data(object, &data), "mutable_cpu_data");
    if (object == on_host) std::memcpy(data, to_device, kBytes);
  }
  library.must(library.mutable_gpu_data(on_device, &data), "mutable_gpu_data");
  std::memset(readback.get(), kPoison, kBytes);
}

Objects::~Objects() {
  for (syncedmem_t* object : {fresh, fresh_pinned, with_device, with_pinned, on_host, on_device}) library.destroy(object);
}

struct Operation {
  const char* name;
  Expected expected;
  int reuse;
  // Leaves an idle block for the operation.
  bool idle_block;
  // `fresh_pinned` must be page-locked; otherwise pageable memory may be taken.
  bool pins;
  std::function<syncedmem_status_t(Objects&, void* stream)> once;
};

const void* g_read = nullptr;
void* g_written = nullptr;
CUstream_st* as_stream(void* stream) { return static_cast<CUstream_st*>(stream); }

const int kSynchronised = SYNCEDMEM_REUSE_SYNCHRONISED;

std::vector<Operation> operations() {
  return {
      {"allocates a device block", kDone, kSynchronised, false, false,
       [](Objects& o, void*) { return o.library.overwrite_gpu_data(o.fresh, &g_written); }},
      {"hands an idle device block out, reuse: stream", kDone, SYNCEDMEM_REUSE_STREAM, true, false,
       [](Objects& o, void*) { return o.library.overwrite_gpu_data(o.fresh, &g_written); }},
      {"allocates a device block of zeros", kDoneOrRefused, kSynchronised, false, false,
       [](Objects& o, void*) { return o.library.mutable_gpu_data(o.fresh, &g_written); }},
      {"allocates a pinned block", kDone, kSynchronised, false, true,
       [](Objects& o, void*) { return o.library.overwrite_cpu_data(o.fresh_pinned, &g_written); }},
      {"frees a device block", kDone, kSynchronised, false, false,
       [](Objects& o, void*) { return o.destroy(o.with_device); }},
      {"frees a pinned block", kDone, kSynchronised, false, false,
       [](Objects& o, void*) { return o.destroy(o.with_pinned); }},
      {"trims all pools", kDone, kSynchronised, true, false, [](Objects& o, void*) { return o.library.trim(SYNCEDMEM_MEMORY_ALL); }},
      {"copies to the device", kDoneOrRefused, kSynchronised, false, false,
       [](Objects& o, void*) { return o.library.gpu_data(o.on_host, &g_read); }},
      {"copies to the host", kDoneOrRefused, kSynchronised, false, false,
       [](Objects& o, void*) { return o.library.cpu_data(o.on_device, &g_read); }},
      {"pushes on the capturing stream", kRefused, kSynchronised, false, false,
       [](Objects& o, void* stream) { return o.library.async_gpu_push(o.on_host, as_stream(stream)); }},
      {"pulls on the capturing stream", kRefused, kSynchronised, false, false,
       [](Objects& o, void* stream) { return o.library.async_cpu_pull(o.on_device, as_stream(stream)); }},
      {"records the capturing stream", kRefused, kSynchronised, false, false,
       [](Objects& o, void* stream) { return o.library.record_stream(o.on_device, as_stream(stream)); }},
      // Last: the library may learn from this call that there are captures.
      {"hands an idle device block out", kDoneAnyway, kSynchronised, true, false,
       [](Objects& o, void*) { return o.library.overwrite_gpu_data(o.fresh, &g_written); }}};
}

struct Answer {
  syncedmem_status_t status;
  std::string error;
};

Answer ask(const Operation& operation, Objects& objects, void* stream, bool other_thread) {
  Answer answer = {SYNCEDMEM_SUCCESS, ""};
  const auto work = [&] {
    answer.status = operation.once(objects, stream);
    if (answer.status != SYNCEDMEM_SUCCESS) answer.error = objects.library.last_error();
  };
  if (!other_thread) {
    work();
    return answer;
  }
  std::thread([&] {
    objects.driver.make_current();
    work();
  }).join();
  return answer;
}

// Every object has its bytes after the capture, whether a copy was refused or not.
std::string bytes_of(Objects& objects) {
  const Library& library = objects.library;
  const void *device = nullptr, *host = nullptr;
  if (library.gpu_data(objects.on_host, &device) != SYNCEDMEM_SUCCESS) return library.last_error();
  objects.driver.copy(objects.readback.get(), device, kBytes);
  std::string wrong = difference(objects.readback.get(), objects.to_device, kBytes);
  if (!wrong.empty()) return "on the device, " + wrong;
  if (library.cpu_data(objects.on_device, &host) != SYNCEDMEM_SUCCESS) return library.last_error();
  wrong = difference(host, objects.to_host, kBytes);
  return wrong.empty() ? "" : "on the host, " + wrong;
}

// Empty if the answer is right.
std::string judged(const Operation& operation, const Answer& answer, const Objects& objects) {
  const bool done = answer.status == SYNCEDMEM_SUCCESS;
  bool pinned = true;
  if (operation.pins) objects.library.must(objects.library.is_pinned(objects.fresh_pinned, &pinned), "is_pinned");
  if (!pinned) return "the block is not page-locked";
  if (done) return operation.expected == kRefused ? "it was done" : "";
  if (operation.expected == kDone || operation.expected == kDoneAnyway) return "it was refused: " + answer.error;
  return answer.error.find("captur") == std::string::npos ? "the error does not name the capture: " + answer.error : "";
}

void one_case(Bench& bench, const Capturing& calls, const Operation& operation, const How& how, Pattern& pattern) {
  const Library& library = bench.library;
  library.must(library.set_reuse(operation.reuse), "set_reuse");
  Objects objects(library, bench.driver, pattern);
  library.must(library.trim(SYNCEDMEM_MEMORY_ALL), "trim");
  if (operation.idle_block) objects.destroy(objects.with_device);
  Captured captured(calls, how.mode, how.blocking);
  const Answer answer = ask(operation, objects, captured.stream(), how.other_thread);
  const std::string broken = captured.end();
  const std::string replayed = broken.empty() ? captured.replay() : "";
  const std::string bytes = bytes_of(objects);
  const bool done = answer.status == SYNCEDMEM_SUCCESS;
  std::printf("| %s | %s | %s | %s | %s |\n", how.columns(" | ").c_str(), operation.name,
              done ? "done" : answer.error.c_str(), broken.empty() ? "whole" : broken.c_str(),
              !broken.empty() ? "" : replayed.empty() ? "right" : replayed.c_str());
  std::fflush(stdout);
  report::record("\"capture\": " + report::quoted(how.columns(", ")) + ", \"operation\": " +
                 report::quoted(operation.name) + ", \"error\": " + report::quoted(answer.error) + ", \"graph\": " +
                 report::quoted(broken.empty() ? "whole" : broken));
  std::string wrong = judged(operation, answer, objects);
  // The driver ends the capture before it returns the error of a refused copy.
  const bool may_break = operation.expected == kDoneAnyway || (!done && operation.expected == kDoneOrRefused);
  if (wrong.empty() && !broken.empty() && !may_break) wrong = "the capture broke: " + broken;
  if (wrong.empty() && !replayed.empty()) wrong = "the replay: " + replayed;
  if (wrong.empty() && !bytes.empty()) wrong = "the objects' bytes afterwards: " + bytes;
  if (wrong.empty()) return report::passed();
  report::failed("capture, " + how.columns(", ") + ": the library " + operation.name, wrong);
}

}  // namespace

void capture(Bench& bench) {
  const Capturing calls(bench.driver);
  const std::vector<Operation> all = operations();
  const std::vector<How> hows = ways();
  unsigned left = static_cast<unsigned>(all.size() * hows.size());
  if (!calls.missing.empty()) return report::skipped("capture", "this driver does not have " + calls.missing, left);
  Pattern pattern;
  pattern.reserve(kBytes);
  bench.section("The library beside a stream that is captured", {});
  std::puts("\n| mode | stream | on | the library | answer | capture | replay |\n|---|---|---|---|---|---|---|");
  for (const Operation& operation : all) {
    for (const How& how : hows) {
      if (bench.seconds_left() <= 0 && !bench.driver.simulated) {
        return report::skipped("capture", "the time was up", left);
      }
      one_case(bench, calls, operation, how, pattern);
      --left;
    }
  }
}
