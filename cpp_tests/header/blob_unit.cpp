// The header of Blob in a second translation unit.
#include "syncedmem/blob.hpp"
#include "syncedmem/blob.hpp"

const syncedmem_head_t* synced() { return &syncedmem::SyncedMemory::SYNCED; }

void fill(syncedmem::Blob<float>* blob) { blob->mutable_cpu_data()[0] = 1; }
