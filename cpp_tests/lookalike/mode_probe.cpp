// Runs its arguments as commands, one after the other, and prints their results:
//
//   open:LIBRARY     opens a stand-in for libcaffe at run time, as Python opens an extension module
//   close            closes it again
//   cpu, gpu         sets Caffe's mode on this thread
//   set:N            sets it to something else
//   ours:N           sets the library's own mode, a syncedmem_mode_t
//   block:BYTES      a new object's host memory: is it pinned?
//   thread:BYTES     block:BYTES on a new thread
//   gets             the number of calls of Caffe::Get() since the last `gets`
//   cxx              asks for device memory through the C++ ABI
//   c                asks for device memory through the C API
//
// Compiled with LINKED, the program has a stand-in linked in.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "caffe/common.hpp"
#include "generations/bvlc_master.hpp"
#include "support/driver.hpp"
#include "syncedmem.h"

namespace {

void* opened = nullptr;
#ifdef LINKED
auto set_mode = &lookalike_set_mode;
auto gets = &lookalike_gets;
#else
decltype(&lookalike_set_mode) set_mode = nullptr;
decltype(&lookalike_gets) gets = nullptr;
#endif

void open(const std::string& library) {
  opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  set_mode = reinterpret_cast<decltype(set_mode)>(dlsym(opened, "lookalike_set_mode"));
  gets = reinterpret_cast<decltype(gets)>(dlsym(opened, "lookalike_gets"));
}

/// Whether the memory is page-locked, by the library and by the driver.
void block(const char* what, std::size_t bytes) {
  caffe::SyncedMemory memory(bytes);
  std::memset(memory.mutable_cpu_data(), 1, bytes);
  bool pinned = false;
  syncedmem_is_pinned(reinterpret_cast<syncedmem_t*>(&memory), &pinned);
  const bool agreed = driver::account().pinned_blocks == (pinned ? 1 : 0);
  std::printf("%s %zu %s%s\n", what, bytes, pinned ? "pinned" : "pageable", agreed ? "" : ", and the driver disagrees");
}

void ask_through_c() {
  caffe::SyncedMemory memory(100);
  const void* data = nullptr;
  const syncedmem_status_t status = syncedmem_gpu_data(reinterpret_cast<syncedmem_t*>(&memory), &data);
  std::printf("c %s\n", syncedmem_status_name(status));
}

void ask_through_cxx() {
  caffe::SyncedMemory memory(100);
  std::printf("cxx %s\n", memory.gpu_data() ? "has memory" : "has none");
}

}  // namespace

int main(int arguments, char** argument) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (int i = 1; i < arguments; ++i) {
    const std::string step = argument[i];
    const std::size_t colon = step.find(':');
    const std::string verb = step.substr(0, colon);
    const std::string object = colon == std::string::npos ? "" : step.substr(colon + 1);
    if (verb == "open") open(object);
    else if (verb == "close") dlclose(opened);
    else if (verb == "cpu") set_mode(0);
    else if (verb == "gpu") set_mode(1);
    else if (verb == "set") set_mode(std::stoi(object));
    else if (verb == "ours") syncedmem_set_mode(std::stoi(object));
    else if (verb == "block") block("block", std::stoul(object));
    else if (verb == "thread") std::thread(block, "thread", std::stoul(object)).join();
    else if (verb == "gets") std::printf("gets %d\n", gets());
    else if (verb == "cxx") ask_through_cxx();
    else if (verb == "c") ask_through_c();
    else return 2;
  }
  return 0;
}
