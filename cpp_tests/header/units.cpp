// One program of three translation units, C and C++, that all include the headers.
#include "syncedmem.h"
#include "syncedmem.hpp"

extern "C" int head_in_c(syncedmem_t* mem);
syncedmem::SyncedMemory made_elsewhere(std::size_t bytes);

int main() {
  syncedmem::SyncedMemory memory = made_elsewhere(16);
  if (head_in_c(memory.get()) != SYNCEDMEM_UNINITIALIZED) return 1;
  memory.mutable_cpu_data();
  return head_in_c(memory.get()) == SYNCEDMEM_HEAD_AT_CPU ? 0 : 1;
}
