// Every header in a second translation unit, included twice.
#include "syncedmem.hpp"
#include "syncedmem/blob/compat.hpp"
#include "syncedmem/caffe2/compat.hpp"
#include "syncedmem/caffe2.hpp"
#include "syncedmem.h"
#include "syncedmem.hpp"
#include "syncedmem/blob/compat.hpp"
#include "syncedmem/caffe2/compat.hpp"
#include "syncedmem/caffe2.hpp"
#include "syncedmem.h"

syncedmem::SyncedMemory made_elsewhere(std::size_t bytes) { return syncedmem::SyncedMemory(bytes); }

const syncedmem_head_t* synced() { return &syncedmem::SyncedMemory::SYNCED; }

void fill(syncedmem::Blob<float>* blob) { blob->mutable_cpu_data()[0] = 1; }

namespace caffe2 {

TensorCPU* made_elsewhere(Workspace* ws) {
  // The class has two names.
  syncedmem::caffe2::TensorCPU* tensor = ws->CreateBlob("tensor")->GetMutable<TensorCPU>();
  tensor->Resize(4);
  tensor->mutable_data<char>();
  return tensor;
}

}  // namespace caffe2
