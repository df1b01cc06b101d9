#include "library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const char kClass[] = "_ZN5caffe12SyncedMemory";

[[noreturn]] void die(const std::string& path, const std::string& what) {
  std::fprintf(stderr, "bench: %s: %s\n", path.c_str(), what.c_str());
  std::exit(2);
}

// The loaded object that an address lies in.
struct Home {
  const void* base;
  std::string name;
};

Home home_of(const void* address) {
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0) return {nullptr, "no loaded library"};
  return {info.dli_fbase, info.dli_fname};
}

void* symbol(void* handle, const std::string& path, const void* base, const std::string& name) {
  void* address = dlsym(handle, name.c_str());
  if (address == nullptr) die(path, "does not export " + name + ": is it a build of Caffe from rc4 on?");
  const Home home = home_of(address);
  if (home.base != base) die(path, name + " comes from " + home.name + " instead; unset LD_PRELOAD");
  return address;
}

// The tables of the dynamic section that name what the library asked the loader for.
struct Relocations {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* table[2] = {nullptr, nullptr};  // calls through the PLT; everything else
  std::size_t bytes[2] = {0, 0};
};

Relocations relocations_of(const link_map* map) {
  Relocations found;
  for (const Elf64_Dyn* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    // glibc has already turned the addresses of these entries into those of the loaded object.
    const Elf64_Addr address = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const Elf64_Sym*>(address); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(address); break;
      case DT_JMPREL: found.table[0] = reinterpret_cast<const Elf64_Rela*>(address); break;
      case DT_PLTRELSZ: found.bytes[0] = entry->d_un.d_val; break;
      case DT_RELA: found.table[1] = reinterpret_cast<const Elf64_Rela*>(address); break;
      case DT_RELASZ: found.bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

// Reads the slots that the loader filled: libcaffe calls its own check_device() through the PLT,
// so another library's SyncedMemory in the global scope would be called from inside it.
int verify_inner_calls(const link_map* map, const std::string& path, const void* base) {
  const Relocations found = relocations_of(map);
  int seen = 0;
  for (int which = 0; which < 2; ++which) {
    const Elf64_Rela* table = found.table[which];
    for (std::size_t i = 0; table != nullptr && i < found.bytes[which] / sizeof(Elf64_Rela); ++i) {
      const std::size_t index = ELF64_R_SYM(table[i].r_info);
      const char* name = found.names + found.symbols[index].st_name;
      if (std::strncmp(name, kClass, sizeof kClass - 1) != 0) continue;
      const void* target = *reinterpret_cast<void* const*>(map->l_addr + table[i].r_offset);
      const Home home = home_of(target);
      if (home.base != base) die(path, std::string(name) + ", called inside it, is bound to " + home.name);
      ++seen;
    }
  }
  return seen;
}

}  // namespace

Library load(const std::string& title, const std::string& path) {
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) die(path, "no such file");
  // RTLD_LOCAL keeps each library out of the scope that the other one's symbols are looked up in;
  // RTLD_NOW binds every call before the first measurement.
  void* handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) die(path, dlerror());
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) die(path, dlerror());
  const void* base = home_of(map->l_ld).base;

  const std::string name(kClass);
  Library library;
  library.name = title;
  library.path = real;
  library.construct = reinterpret_cast<void (*)(void*, std::size_t)>(symbol(handle, path, base, name + "C1Em"));
  library.destroy = reinterpret_cast<void (*)(void*)>(symbol(handle, path, base, name + "D1Ev"));
  library.cpu_data = reinterpret_cast<const void* (*)(void*)>(symbol(handle, path, base, name + "8cpu_dataEv"));
  library.mutable_cpu_data =
      reinterpret_cast<void* (*)(void*)>(symbol(handle, path, base, name + "16mutable_cpu_dataEv"));
  // The C API's, on the same objects: there is none in Caffe.
  void* overwrite = dlsym(handle, "syncedmem_overwrite_cpu_data");
  if (home_of(overwrite).base != base) overwrite = nullptr;
  library.overwrite_cpu_data = reinterpret_cast<int (*)(void*, void**)>(overwrite);
  library.inner_calls = verify_inner_calls(map, path, base);
  return library;
}
