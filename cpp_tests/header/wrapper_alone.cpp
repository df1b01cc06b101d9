// The C++ header alone, without any other include.
#include "syncedmem.hpp"

int main() {
  syncedmem::SyncedMemory memory(16);
  memory.mutable_cpu_data<char>()[15] = 1;
  syncedmem::SyncedMemory moved(std::move(memory));
  return moved.cpu_data<char>()[15] == 1 && moved.head() == SYNCEDMEM_HEAD_AT_CPU ? 0 : 1;
}
