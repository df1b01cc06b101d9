// Both headers in a third translation unit, twice each.
#include "syncedmem.hpp"
#include "syncedmem.h"
#include "syncedmem.hpp"
#include "syncedmem.h"

syncedmem::SyncedMemory made_elsewhere(std::size_t bytes) { return syncedmem::SyncedMemory(bytes); }
