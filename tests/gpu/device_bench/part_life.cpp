// Objects that are alive at a reset of the device, at a fork, and at the end of a process.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "child.hpp"
#include "parts.hpp"
#include "pattern.hpp"
#include "report.hpp"

namespace {

const std::size_t kBytes = 3 * kMiB + 1;

struct Object {
  Object(const Library& the_library, std::size_t bytes) : library(the_library) {
    library.must(library.create(bytes, &handle), "create");
  }
  void* host() const {
    void* data = nullptr;
    library.must(library.mutable_cpu_data(handle, &data), "mutable_cpu_data");
    return data;
  }
  void* device() const {
    void* data = nullptr;
    library.must(library.mutable_gpu_data(handle, &data), "mutable_gpu_data");
    return data;
  }
  const Library& library;
  syncedmem_t* handle = nullptr;
};

void judge(const std::string& what, bool right, const std::string& otherwise) {
  if (right) report::passed();
  else report::failed(what, otherwise);
}

// To the device and back.
std::string there_and_back(const Library& library, Pattern& pattern) {
  const unsigned char* const expected = pattern.next();
  Object object(library, kBytes);
  std::memcpy(object.host(), expected, kBytes);
  object.device();
  const std::string wrong = difference(object.host(), expected, kBytes);
  library.must(library.destroy(object.handle), "destroy");
  return wrong;
}

bool is_a_sentence(const std::string& text) { return text.size() > 20 && text.find(' ') != std::string::npos; }

// As the CUDA runtime does after cudaDeviceReset().
void make_current_anew(const Driver& driver) {
  Driver::Status (*retain)(void**, int), (*set_current)(void*);
  void* context = nullptr;
  if (!driver.entry("cuDevicePrimaryCtxRetain", retain) || !driver.entry("cuCtxSetCurrent", set_current) ||
      retain(&context, driver.handle) != 0 || set_current(context) != 0) {
    die("the primary context cannot be had after its reset");
  }
}

void reset_once(Bench& bench, bool current, Pattern& pattern) {
  const Library& library = bench.library;
  const std::string when = current ? ", its context current" : ", no context current";
  Driver::Status (*primary_reset)(int), (*set_current)(void*);
  if (!bench.driver.entry("cuDevicePrimaryCtxReset_v2", primary_reset) || !bench.driver.entry("cuCtxSetCurrent", set_current)) {
    return report::skipped("reset" + when, "this driver cannot");
  }
  const unsigned char* const expected = pattern.next();
  library.must(library.set_pinning(SYNCEDMEM_PIN_NEVER), "set_pinning");
  Object on_device(library, kBytes), on_both(library, kBytes), pinned(library, kBytes);
  on_device.device();
  std::memcpy(on_both.host(), expected, kBytes);
  const void* read = nullptr;
  library.must(library.gpu_data(on_both.handle, &read), "gpu_data");
  library.must(library.set_pinning(SYNCEDMEM_PIN_ALWAYS), "set_pinning");
  void* address = nullptr;
  library.must(library.overwrite_cpu_data(pinned.handle, &address), "overwrite_cpu_data");
  library.must(library.set_pinning(SYNCEDMEM_PIN_NEVER), "set_pinning");
  if (!current) set_current(nullptr);
  if (const int status = primary_reset(bench.driver.handle)) die("cuDevicePrimaryCtxReset returned " + std::to_string(status));
  if (current) make_current_anew(bench.driver);
  const syncedmem_status_t status = library.cpu_data(on_device.handle, &read);
  const std::string error = status == SYNCEDMEM_SUCCESS ? "" : library.last_error();
  judge("data that was on the device alone" + when, status != SYNCEDMEM_SUCCESS && is_a_sentence(error),
        status == SYNCEDMEM_SUCCESS ? "the copy succeeded" : "the error is no sentence: " + error);
  std::printf("- data that was on the device alone%s: %s\n", when.c_str(), error.c_str());
  const syncedmem_status_t host_status = library.cpu_data(on_both.handle, &read);
  judge("data that the host has too" + when, host_status == SYNCEDMEM_SUCCESS && difference(read, expected, kBytes).empty(),
        host_status == SYNCEDMEM_SUCCESS ? difference(read, expected, kBytes) : library.last_error());
  // Each block went with the reset, or lies in a context that did.
  for (const Object* object : {&on_device, &on_both, &pinned}) {
    judge("an object is destroyed" + when, library.destroy(object->handle) == SYNCEDMEM_SUCCESS, library.last_error());
  }
  std::string wrong = there_and_back(library, pattern);
  judge("later use" + when, wrong.empty(), wrong);
  make_current_anew(bench.driver);
}

// In the child: what needs the driver gives an error. The exit status says what did not work.
int in_child(const Library& library, const Object& object, const unsigned char* expected) {
  const void* read = nullptr;
  if (library.cpu_data(object.handle, &read) != SYNCEDMEM_SUCCESS) return 1;
  if (!difference(read, expected, kBytes).empty()) return 2;
  Object fresh(library, kBytes);
  if (library.gpu_data(fresh.handle, &read) == SYNCEDMEM_SUCCESS) return 3;
  if (!is_a_sentence(library.last_error())) return 4;
  std::memset(fresh.host(), 1, kBytes);
  if (library.destroy(fresh.handle) != SYNCEDMEM_SUCCESS) return 5;
  return library.destroy(object.handle) == SYNCEDMEM_SUCCESS ? 0 : 6;
}

const Library* g_library = nullptr;
syncedmem_t* g_objects[2] = {nullptr, nullptr};

// Made before main: its destructor runs behind handlers that are registered later.
struct AtStaticEnd {
  ~AtStaticEnd() {
    for (syncedmem_t* object : g_objects) {
      if (object != nullptr) g_library->destroy(object);
    }
  }
} g_at_static_end;

}  // namespace

void reset(Bench& bench) {
  Pattern pattern;
  pattern.reserve(kBytes);
  std::puts("");
  // Twice each.
  for (const bool current : {true, false, true, false}) reset_once(bench, current, pattern);
}

void fork_of_a_user(Bench& bench) {
  const char* const kWrong[] = {"",
                                "the host's data cannot be read",
                                "the host's data is not what it was",
                                "a device call succeeded",
                                "a device call's error is no sentence",
                                "an object of its own cannot be destroyed",
                                "the parent's object cannot be destroyed"};
  const Library& library = bench.library;
  Pattern pattern;
  pattern.reserve(kBytes);
  for (const bool pinned : {false, true}) {
    const std::string what = std::string("a forked process, host memory ") + (pinned ? "pinned" : "pageable");
    library.must(library.set_pinning(pinned ? SYNCEDMEM_PIN_ALWAYS : SYNCEDMEM_PIN_NEVER), "set_pinning");
    const unsigned char* const expected = pattern.next();
    Object object(library, kBytes);
    std::memcpy(object.host(), expected, kBytes);
    const void* read = nullptr;
    library.must(library.gpu_data(object.handle, &read), "gpu_data");
    library.must(library.cpu_data(object.handle, &read), "cpu_data");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) return report::failed(what, "fork failed");
    if (child == 0) _exit(in_child(library, object, expected));
    const int status = wait_for(child, 20);
    const int wrong = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool known = wrong >= 0 && wrong <= 6;
    judge(what, wrong == 0, known ? kWrong[wrong] : status == -1 ? "it did not end" : "it died with " + std::to_string(status));
    const std::string parent = there_and_back(library, pattern);
    judge(what + ": its parent afterwards", parent.empty(), parent);
    judge(what + ": its parent's object", difference(read, expected, kBytes).empty(), "its host data changed");
    library.must(library.destroy(object.handle), "destroy");
  }
}

void leave(Bench& bench, const std::string& part) {
  const Library& library = bench.library;
  std::size_t number = 0;
  for (const int pinning : {SYNCEDMEM_PIN_ALWAYS, SYNCEDMEM_PIN_NEVER}) {
    library.must(library.set_pinning(pinning), "set_pinning");
    Object object(library, kBytes);
    std::memset(object.host(), 1, kBytes);
    object.device();
    object.host();
    if (part == "exit_static") g_objects[number++] = object.handle;
    // Idle in the pools at the end.
    library.must(library.destroy(Object(library, kBytes).handle), "destroy");
  }
  g_library = &library;
  if (part == "exit_quick") std::quick_exit(0);
  if (part == "exit_thread") {
    std::thread([] { std::exit(0); }).detach();
    for (;;) pause();
  }
  std::exit(0);
}
