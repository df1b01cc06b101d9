// Every C++ header in a second translation unit, twice each.
#include "syncedmem.hpp"
#include "syncedmem/blob/compat.hpp"
#include "syncedmem/caffe2/compat.hpp"
#include "syncedmem/caffe2.hpp"
#include "syncedmem.hpp"
#include "syncedmem/blob/compat.hpp"
#include "syncedmem/caffe2/compat.hpp"
#include "syncedmem/caffe2.hpp"

namespace caffe2 {

TensorCPU* made_elsewhere(Workspace* ws) {
  // One class with two names.
  syncedmem::caffe2::TensorCPU* tensor = ws->CreateBlob("tensor")->GetMutable<TensorCPU>();
  tensor->Resize(4);
  tensor->mutable_data<char>();
  return tensor;
}

}  // namespace caffe2
