// Code written for Caffe2, on the header that replaces Caffe2's. A second unit includes it too.
#include <sstream>

// A user's header with forward declarations of Caffe2's classes.
namespace caffe2 {
class Workspace;
class Blob;
template <class Context>
class Tensor;
}  // namespace caffe2
float weight_in(caffe2::Workspace* ws);

#include "syncedmem/caffe2/compat.hpp"

namespace caffe2 {

class Sample {
 public:
  Sample() : weight(1) {}
  float weight;
  DISABLE_COPY_AND_ASSIGN(Sample);
};
CAFFE_KNOWN_TYPE(Sample);

namespace enforce_detail {
inline EnforceFailMessage IsVector(const vector<TIndex>& dims) {
  if (dims.size() == 1) return EnforceOK();
  return MakeString(dims.size(), " dimensions are no vector");
}
}  // namespace enforce_detail

string why_not(const TensorCPU& tensor, size_t size) {
  try {
    CAFFE_ENFORCE(tensor.ndim() < 3);
    CAFFE_ENFORCE_THAT(IsVector(tensor.dims()), "call Reshape");
    CAFFE_ENFORCE_EQ(tensor.size(), size, "a tensor of ", size, " items");
    CAFFE_ENFORCE_GE_WITH_CALLER(size, 0);
    CAFFE_THROW("no fault was found");
  } catch (EnforceNotMet& error) {
    error.AppendMessage(" Noticed in a test.");
    return error.msg();
  }
}

template <class Context>
void Halve(Tensor<Context>* tensor) {
  for (TIndex at = 0; at < tensor->size(); ++at) tensor->template mutable_data<float>()[at] /= 2;
}

template <class T, class Context>
void WindowOf(Tensor<Context>* source, TIndex step, Tensor<Context>* window) {
  const TIndex items = source->size() / source->dim(0);
  auto dims = source->dims();
  dims[0] = 1;
  window->Resize(dims);
  // Many operators of Caffe2 pass the number of items where bytes are meant.
  window->ShareExternalPointer(source->template mutable_data<T>() + step * items, window->size());
}

TensorCPU* made_elsewhere(Workspace* ws);

}  // namespace caffe2

float weight_in(caffe2::Workspace* ws) { return ws->GetBlob("sample")->Get<caffe2::Sample>().weight; }

static bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int main() {
  caffe2::Workspace ws;
  caffe2::TensorCPU* tensor = caffe2::made_elsewhere(&ws);
  const bool keeps CAFFE2_UNUSED = FLAGS_caffe2_keep_on_shrink;
  caffe2::FLAGS_caffe2_keep_on_shrink = false;
  if (FLAGS_caffe2_keep_on_shrink || caffe2::FLAGS_caffe2_max_keep_on_shrink_memory != INT64_MAX) return 1;
  tensor->Resize(2);
  if (tensor->capacity_nbytes() != 0) return 2;
  if (!contains(caffe2::why_not(*tensor, 3), "] tensor.size() == size. 2 vs 3. a tensor of 3 items Noticed in a test.")) return 3;
  if (!contains(caffe2::why_not(*tensor, 2), "no fault was found")) return 4;
  caffe2::TensorCPU matrix(caffe2::ToVectorTIndex({3, 2})), row;
  for (int at = 0; at < 6; ++at) matrix.mutable_data<float>()[at] = static_cast<float>(at);
  if (!contains(caffe2::why_not(matrix, 6), "2 dimensions are no vector. call Reshape")) return 5;
  caffe2::WindowOf<float>(&matrix, 1, &row);
  Halve(&row);  // found by argument-dependent lookup
  if (matrix.data<float>()[3] != 1.5f || caffe2::size_from_dim_(1, matrix.dims()) * caffe2::size_to_dim_(1, matrix.dims()) != 6) return 6;
  caffe2::DeviceOption option;
  option.set_device_type(caffe2::CPU);
  option.set_random_seed(17);
  caffe2::CPUContext context(option), same(option);
  if (context.RandGenerator()() != same.RandGenerator()()) return 7;
  ws.CreateBlob("sample")->GetMutable<caffe2::Sample>();
  return weight_in(&ws) == 1 ? 0 : 8;
}
