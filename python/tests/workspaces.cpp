// What test_caffe2_workspace.py calls: a workspace that C++ makes, and C++'s look at the tensors of one.
#include <algorithm>
#include <numeric>
#include <string>

#include "syncedmem/caffe2.hpp"

using syncedmem::caffe2::TensorCPU;
using syncedmem::caffe2::Workspace;

class Sample {
 public:
  Sample() { ++alive; }
  Sample(const Sample&) { ++alive; }
  Sample& operator=(const Sample&) = default;
  ~Sample() { --alive; }
  static int alive;
};
int Sample::alive = 0;

extern "C" int samples() { return Sample::alive; }

// The caller ends the holder.
extern "C" syncedmem_workspace_t* make_workspace() {
  Workspace ws;
  TensorCPU* weights = ws.CreateBlob("weights")->GetMutable<TensorCPU>();
  weights->Resize(256, 1024);
  std::fill_n(weights->mutable_data<float>(), weights->size(), 5.0f);
  *ws.CreateBlob("text")->GetMutable<std::string>() = "only C++ knows";
  TensorCPU* objects = ws.CreateBlob("objects")->GetMutable<TensorCPU>();
  objects->Resize(3);
  objects->mutable_data<Sample>();
  syncedmem_workspace_retain(ws.c());
  return ws.c();
}

extern "C" double sum_of(syncedmem_workspace_t* workspace, const char* name) {
  Workspace ws(workspace);
  const TensorCPU& tensor = ws.GetBlob(name)->Get<TensorCPU>();
  const float* items = tensor.data<float>();
  return std::accumulate(items, items + tensor.size(), 0.0);
}

extern "C" int first_dimension_of(syncedmem_workspace_t* workspace, const char* name) {
  return Workspace(workspace).GetBlob(name)->Get<TensorCPU>().dim32(0);
}
