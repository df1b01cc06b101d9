// Makes the library's C++ functions fail, and prints the caught exception. A program, or with PLUGIN a library that a program opens.
//
//   catches policy|callback [LIBRARY local|global|fails|wraps]
//
// LIBRARY is opened first; with `fails` it makes the failing call, with `wraps` the program calls the library through it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "generations/bvlc_master.hpp"
#include "support/caffe_host.hpp"
#include "syncedmem.h"

namespace {

constexpr std::size_t absurd = ~std::size_t(0);

struct Mine : std::exception {
  const char* what() const noexcept override { return "mine"; }
};

/// Counts destructors that run while an exception passes.
struct Counted {
  explicit Counted(int* destroyed) : destroyed_(destroyed) {}
  ~Counted() { ++*destroyed_; }
  int* destroyed_;
};

template <typename Function>
void say(const char* call, Function fails) {
  int destroyed = 0;
  try {
    Counted counted(&destroyed);
    fails();
    std::printf("%s: nothing", call);
  } catch (const Mine& mine) {
    std::printf("%s: %s", call, mine.what());
  } catch (const std::bad_alloc&) {
    std::printf("%s: bad_alloc", call);
  } catch (const std::runtime_error& error) {
    const bool is_whole = std::strstr(error.what(), "SyncedMemory::") != nullptr;
    std::printf("%s: runtime_error %.18s%s", call, error.what(), is_whole ? "" : " and no more");
  } catch (const std::exception& other) {
    std::printf("%s: another exception, %s", call, other.what());
  } catch (...) {
    std::printf("%s: a foreign exception", call);
  }
  std::printf(", %d destroyed, %d uncaught\n", destroyed, std::uncaught_exceptions());
  std::fflush(stdout);
}

}  // namespace

extern "C" int catches(const char* how) {
  if (std::strcmp(how, "callback") == 0) {
    syncedmem_set_error_callback([](syncedmem_status_t, const char*, void*) { throw Mine(); }, nullptr);
  }
  caffe::SyncedMemory memory(8);
  say("cpu_data", [] { caffe::SyncedMemory(absurd).cpu_data(); });
  // The second access takes the fast path.
  memory.cpu_data();
  say("cpu_data again", [] { caffe::SyncedMemory(absurd).cpu_data(); });
  say("set_cpu_data", [&] { memory.set_cpu_data(nullptr); });
  say("CaffeMallocHost", [] {
    void* block;
    bool pinned;
    caffe::CaffeMallocHost(&block, absurd, &pinned);
  });
  return 0;
}

#ifndef PLUGIN
namespace {

using Wraps = const char* (*)(caffe::SyncedMemory*);

int catches_through(Wraps wraps) {
  caffe::SyncedMemory memory(absurd);
  say("cpu_data", [&] { wraps(&memory); });
  return 0;
}

}  // namespace

int main(int arguments, char** argument) {
  if (arguments == 4) {
    const int scope = std::strcmp(argument[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    void* library = dlopen(argument[2], RTLD_NOW | scope);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    if (std::strcmp(argument[3], "fails") == 0) {
      return reinterpret_cast<int (*)(const char*)>(dlsym(library, "catches"))(argument[1]);
    }
    if (std::strcmp(argument[3], "wraps") == 0) {
      return catches_through(reinterpret_cast<Wraps>(dlsym(library, "wraps")));
    }
  }
  return catches(argument[1]);
}
#endif
