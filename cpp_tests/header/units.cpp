// One program of three translation units, C and C++, that all include the headers.
#include "syncedmem.h"
#include "syncedmem.hpp"
#include "syncedmem/blob.hpp"

extern "C" int head_in_c(syncedmem_t* mem);
syncedmem::SyncedMemory made_elsewhere(std::size_t bytes);
const syncedmem_head_t* synced();
void fill(syncedmem::Blob<float>* blob);

int main() {
  syncedmem::SyncedMemory memory = made_elsewhere(16);
  if (head_in_c(memory.get()) != SYNCEDMEM_UNINITIALIZED) return 1;
  memory.mutable_cpu_data();
  if (head_in_c(memory.get()) != SYNCEDMEM_HEAD_AT_CPU) return 2;
  syncedmem::Blob<float> blob(1, 1, 1, 1);
  fill(&blob);
  return blob.sumsq_data() == 1 && synced() == &syncedmem::SyncedMemory::SYNCED ? 0 : 3;
}
