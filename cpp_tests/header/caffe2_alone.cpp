// Caffe2's C++ header alone, without any other include.
#include "syncedmem/caffe2.hpp"

int main() {
  syncedmem::caffe2::Workspace ws;
  auto* tensor = ws.CreateBlob("weights")->GetMutable<syncedmem::caffe2::TensorCPU>();
  tensor->Resize(4);
  tensor->mutable_data<float>()[3] = 1;
  return ws.GetBlob("weights")->Get<syncedmem::caffe2::TensorCPU>().data<float>()[3] == 1 ? 0 : 1;
}
