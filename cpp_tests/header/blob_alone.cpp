// The header of Blob alone, without any other include. Each template is compiled.
#include "syncedmem/blob.hpp"

template class syncedmem::Blob<float>;
template class syncedmem::Blob<double>;
template class syncedmem::Blob<int>;
template class syncedmem::Blob<unsigned int>;

int main() {
  syncedmem::Blob<float> blob(2, 3, 4, 5);
  blob.mutable_cpu_data()[119] = -1;
  return blob.asum_data() == 1 && blob.data()->head() == syncedmem::SyncedMemory::HEAD_AT_CPU ? 0 : 1;
}
