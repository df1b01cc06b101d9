// A walk through Caffe2's storage, by the classes of syncedmem/caffe2.hpp.
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>

#include "syncedmem/caffe2.hpp"

namespace caffe2 = syncedmem::caffe2;

namespace {

using caffe2::Blob;
using caffe2::TensorCPU;
using caffe2::TensorCUDA;
using caffe2::Workspace;

// One blob holds one value of any type.
void any_type() {
  Blob blob;
  *blob.GetMutable<int>() = 5;
  std::printf("one blob: int %d", blob.Get<int>());
  *blob.GetMutable<double>() = 5.5;
  std::printf(", double %g", blob.Get<double>());
  *blob.GetMutable<std::string>() = "five and a half";
  std::printf(", string %s\n", blob.Get<std::string>().c_str());
}

// A name leads to a blob, the blob to a tensor, and the tensor's first mutable data to an allocation.
void by_name(Workspace& ws) {
  TensorCPU* weights = ws.CreateBlob("weights")->GetMutable<TensorCPU>();
  weights->Resize(2, 3);
  std::printf("weights: a tensor of (2, 3), %zu bytes; ", weights->capacity_nbytes());
  float* items = weights->mutable_data<float>();  // zeros
  std::printf("after mutable data %zu bytes\n", weights->capacity_nbytes());
  std::iota(items, items + weights->size(), 1.0f);
}

void shrinks(TensorCPU& tensor) {
  const void* const before = tensor.raw_data();
  tensor.Resize(1, 2);
  std::printf("shrink to (1, 2): %zu of %zu bytes, %s memory\n", tensor.nbytes(), tensor.capacity_nbytes(),
              tensor.raw_data() == before ? "the same" : "other");
  tensor.Resize(2, 3);
  std::printf("back to (2, 3): %zu of %zu bytes, %s memory\n", tensor.nbytes(), tensor.capacity_nbytes(),
              tensor.raw_data() == before ? "the same" : "other");
  TensorCPU other(tensor);
  caffe2::detail::check(syncedmem_tensor_set_keep_on_shrink(false, 0));
  other.Resize(1, 2);
  std::printf("without keep on shrink, to (1, 2): %zu of %zu bytes\n", other.nbytes(), other.capacity_nbytes());
  caffe2::detail::check(syncedmem_tensor_set_keep_on_shrink(true, INT64_MAX));
}

std::size_t total(const Workspace& ws) {
  std::size_t bytes = 0;
  for (const auto& each : ws.BlobSizes()) bytes += each.second;
  return bytes;
}

void shares(Workspace& ws) {
  const TensorCPU& weights = ws.GetBlob("weights")->Get<TensorCPU>();
  TensorCPU* flat = ws.CreateBlob("flat")->GetMutable<TensorCPU>();
  flat->Resize(6);
  flat->ShareData(weights);
  std::printf("flat shares the memory of weights: it reads %g, and the workspace has %zu bytes\n", flat->data<float>()[5],
              total(ws));
  flat->Resize(7);
  flat->mutable_data<float>();
  std::printf("flat resized to 7: %zu of %zu bytes, weights still ends with %g\n", flat->nbytes(), flat->capacity_nbytes(),
              weights.data<float>()[5]);
}

void to_the_device(const TensorCPU& tensor) {
  const TensorCUDA device(tensor);
  const TensorCPU back(device);
  std::printf("on the device and back:");
  for (int at = 0; at < back.size(); ++at) std::printf(" %g", back.data<float>()[at]);
  std::printf("\n");
}

}  // namespace

int main() {
  const char* reason = "";
  if (syncedmem_cuda_status(&reason) != SYNCEDMEM_SUCCESS) {
    std::fprintf(stderr, "%s\n", reason);
    return 1;
  }
  try {
    any_type();
    Workspace ws;
    by_name(ws);
    TensorCPU* weights = ws.GetBlob("weights")->GetMutable<TensorCPU>();
    shrinks(*weights);
    shares(ws);
    to_the_device(*weights);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
