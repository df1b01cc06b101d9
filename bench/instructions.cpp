// Makes, touches and ends objects on a library, for callgrind to count: instructions.py reads the dumps.
// usage: valgrind --tool=callgrind --collect-atstart=no instructions TITLE LIBRARY STATE
#include <dlfcn.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "library.hpp"

namespace {

// Constructs, touches and destroys one object, over and over. Never inlined, so that both libraries run the same loop.
__attribute__((noinline)) void touch(const Library& library, void* object, std::size_t bytes, long objects) {
  for (long i = 0; i < objects; ++i) {
    library.construct(object, bytes);
    library.mutable_cpu_data(object);
    library.destroy(object);
  }
}

// The dump's name says what was counted. The difference between two lengths excludes what happens once.
void count(const Library& library, const std::string& title, const std::string& state, std::size_t bytes) {
  // This block shifts the others off the start of a page, where only one in 256 of malloc's blocks begins: freeing those takes longer.
  void* const shift = std::malloc(1000);
  // The library's table has 128 shards by address: one of two neighbours has another shard than the object of the state.
  alignas(64) char places[2][64];
  touch(library, places[0], bytes, 100);
  for (char* const object : {places[0], places[1]}) {
    for (const long objects : {100L, 1100L}) {
      const std::string name = title + " " + state + " " + std::to_string(bytes) + " " + std::to_string(objects);
      CALLGRIND_TOGGLE_COLLECT;
      touch(library, object, bytes, objects);
      CALLGRIND_TOGGLE_COLLECT;
      CALLGRIND_DUMP_STATS_AT(name.c_str());
    }
  }
  std::free(shift);
}

// Calls a function of the library's C API that returns a status. The call must succeed.
template <typename... Arguments>
void call(const Library& library, const char* name, Arguments... arguments) {
  void* const opened = dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* const function = opened == nullptr ? nullptr : dlsym(opened, name);
  if (function != nullptr && reinterpret_cast<int (*)(Arguments...)>(function)(arguments...) == 0) return;
  std::fprintf(stderr, "instructions: %s of %s fails\n", name, library.path.c_str());
  std::exit(2);
}

std::string trace() {
  return "/tmp/syncedmem-count-" + std::to_string(getpid());
}

// Does the state's work with another object, before the objects that are counted.
void prepare(const Library& library, const std::string& state) {
  if (state == "plain") return;
  if (state == "trace") call(library, "syncedmem_trace_start", trace().c_str());
  void *other = nullptr, *data = nullptr;
  call(library, "syncedmem_create", std::size_t{4096}, &other);
  call(library, "syncedmem_mutable_cpu_data", other, &data);
  if (state == "tensor") {
    void* tensor = nullptr;
    const std::int64_t shape = 4096;
    call(library, "syncedmem_to_dlpack", other, 0, 1, std::uint8_t{1}, std::uint8_t{8}, 1, &shape, true, &tensor);
    return;
  }
  if (state == "push") {
    call(library, "syncedmem_async_gpu_push", other, static_cast<void*>(nullptr));
    call(library, "syncedmem_wait", other);
  } else if (state == "trace") {
    call(library, "syncedmem_trace_stop");
    std::remove(trace().c_str());
  } else {
    std::fprintf(stderr, "instructions: there is no state %s\n", state.c_str());
    std::exit(2);
  }
  call(library, "syncedmem_destroy", other);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: instructions TITLE LIBRARY STATE\n");
    return 2;
  }
  const std::string state = argv[3];
  const std::string title = argv[1];
  const Library library(argv[2]);
  prepare(library, state);
  for (const std::size_t bytes : {4UL, 256UL, 4096UL, 65536UL}) {
    // Each size runs in a new thread, which gets a new heap from malloc: free blocks that other work left in a heap change a malloc of
    // 4 KiB by some 200 instructions.
    std::thread(count, std::cref(library), std::cref(title), std::cref(state), bytes).join();
  }
}
