#include "work.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "clock.hpp"
#include "threads.hpp"

namespace {

// One loop for every library, never inlined, so that all of them are timed by the very same
// instructions at the same address; unrolled, so that it is the calls that are timed.
template <typename Pointer>
__attribute__((noinline, aligned(64))) double time_calls(Pointer (*call)(void*), void* object, long calls) {
  std::uintptr_t sum = 0;
  const double start = now();
#pragma GCC unroll 8
  for (long i = 0; i < calls; ++i) {
    sum += reinterpret_cast<std::uintptr_t>(call(object));
  }
  const double end = now();
  // A use the compiler cannot see through: the results stay wanted.
  asm volatile("" : : "r"(sum));
  return (end - start) / static_cast<double>(calls);
}

__attribute__((noinline)) void* return_at_once(void* object) {
  asm volatile("");
  return object;
}

// Resident memory in bytes. Of the kernel's figures only this one is counted page by page; those of
// statm are sums that lag behind.
double resident() {
  static char text[4096];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[length < 0 ? 0 : length] = '\0';
  const char* line = std::strstr(text, "\nRss:");
  if (line == nullptr) {
    std::fprintf(stderr, "bench: /proc/self/smaps_rollup cannot be read: resident memory is not known\n");
    std::exit(2);
  }
  return std::strtod(line + 5, nullptr) * 1024;
}

void write_in_full(const Library& library, void* object, std::size_t bytes) {
  library.construct(object, bytes);
  std::memset(library.mutable_cpu_data(object), 0x5A, bytes);
  library.destroy(object);
}

}  // namespace

double page_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt + usage.ru_majflt);
}

double empty_call(long calls) {
  char object = 0;
  return time_calls<void*>(return_at_once, &object, calls);
}

double ready_cpu_data(const Library& library, long calls) {
  Storage object;
  library.construct(object.get(), 4096);
  library.mutable_cpu_data(object.get());
  const double sample = time_calls<const void*>(library.cpu_data, object.get(), calls);
  library.destroy(object.get());
  return sample;
}

double ready_mutable_cpu_data(const Library& library, long calls) {
  Storage object;
  library.construct(object.get(), 4096);
  library.mutable_cpu_data(object.get());
  const double sample = time_calls<void*>(library.mutable_cpu_data, object.get(), calls);
  library.destroy(object.get());
  return sample;
}

double construct_destroy(const Library& library, long calls) {
  Storage object;
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    library.construct(object.get(), 4096);
    library.destroy(object.get());
  }
  return (now() - start) / static_cast<double>(calls);
}

double first_touch(const Library& library, std::size_t bytes, long calls) {
  Storage object;
  const double start = now();
  for (long i = 0; i < calls; ++i) write_in_full(library, object.get(), bytes);
  return (now() - start) / static_cast<double>(calls);
}

double one_byte(const Library& library, std::size_t bytes, std::size_t at) {
  Storage object;
  const double start = now();
  library.construct(object.get(), bytes);
  static_cast<volatile char*>(library.mutable_cpu_data(object.get()))[at] = 1;
  library.destroy(object.get());
  return now() - start;
}

double one_byte_resident(const Library& library, std::size_t bytes, std::size_t at) {
  Storage object;
  const double before = resident();
  library.construct(object.get(), bytes);
  static_cast<volatile char*>(library.mutable_cpu_data(object.get()))[at] = 1;
  const double after = resident();
  library.destroy(object.get());
  return after - before;
}

double acquire_release(const Library& library, std::size_t bytes, long calls) {
  Storage object;
  const double start = now();
  for (long i = 0; i < calls; ++i) {
    library.construct(object.get(), bytes);
    library.write_only(object.get());
    library.destroy(object.get());
  }
  return (now() - start) / static_cast<double>(calls);
}

ColdRead cold_readers(const Library& library, std::size_t bytes, int readers, const std::vector<int>& cpus) {
  Storage object;
  library.construct(object.get(), bytes);
  std::vector<const void*> seen(readers);
  // A thread's first use of the allocator sets up an arena: that is not what is timed here.
  const auto prepare = [](int) {
    void* volatile block = std::malloc(64);
    std::free(block);
  };
  const auto work = [&](int i) {
    seen[i] = library.cpu_data(object.get());
    static_cast<void>(*static_cast<const volatile char*>(seen[i]));
  };
  const double elapsed = together(readers, cpus, prepare, work);
  library.destroy(object.get());
  return {elapsed, static_cast<double>(std::set<const void*>(seen.begin(), seen.end()).size())};
}

double own_objects(const Library& library, std::size_t bytes, int threads, long calls,
                   const std::vector<int>& cpus) {
  std::vector<Storage> objects(threads);
  // Done once before it is timed: a new thread's arena takes a while to settle.
  const auto work = [&](int i) {
    for (long n = 0; n < calls; ++n) write_in_full(library, objects[i].get(), bytes);
  };
  return together(threads, cpus, work, work) / static_cast<double>(calls);
}

double own_blocks(std::size_t bytes, int threads, long calls, const std::vector<int>& cpus) {
  std::vector<std::vector<char>> blocks(threads, std::vector<char>(bytes));
  const auto work = [&](int i) {
    for (long n = 0; n < calls; ++n) {
      for (const int value : {0, 0x5A}) {
        std::memset(blocks[i].data(), value, bytes);
        asm volatile("" : : "r"(blocks[i].data()) : "memory");  // it stays wanted
      }
    }
  };
  return together(threads, cpus, work, work) / static_cast<double>(calls);
}
