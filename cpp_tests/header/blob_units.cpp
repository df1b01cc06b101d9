// One program of two translation units that include the header of Blob.
#include "syncedmem.hpp"
#include "syncedmem/blob.hpp"

const syncedmem_head_t* synced();
void fill(syncedmem::Blob<float>* blob);

int main() {
  syncedmem::Blob<float> blob(1, 1, 1, 1);
  fill(&blob);
  return blob.sumsq_data() == 1 && synced() == &syncedmem::SyncedMemory::SYNCED ? 0 : 1;
}
