// Code as it is written for Caffe2, on the header that takes the place of Caffe2's. Another unit has it too.
#include "syncedmem/caffe2/compat.hpp"

namespace caffe2 {

class Sample {
 public:
  Sample() : weight(1) {}
  float weight;
  DISABLE_COPY_AND_ASSIGN(Sample);
};
CAFFE_KNOWN_TYPE(Sample);

string why_not(const TensorCPU& tensor, TIndex size) {
  try {
    CAFFE_ENFORCE(tensor.ndim() == 1);
    CAFFE_ENFORCE_EQ(tensor.size(), size, "a tensor of ", size, " items");
    CAFFE_ENFORCE_GE_WITH_CALLER(size, 0);
    CAFFE_THROW("no fault was found");
  } catch (const EnforceNotMet& error) {
    return error.what();
  }
}

TensorCPU* made_elsewhere(Workspace* ws);

}  // namespace caffe2

int main() {
  caffe2::Workspace ws;
  caffe2::TensorCPU* tensor = caffe2::made_elsewhere(&ws);
  const bool keeps CAFFE2_UNUSED = FLAGS_caffe2_keep_on_shrink;
  FLAGS_caffe2_keep_on_shrink = false;
  if (FLAGS_caffe2_keep_on_shrink || FLAGS_caffe2_max_keep_on_shrink_memory != INT64_MAX) return 1;
  tensor->Resize(2);
  if (tensor->capacity_nbytes() != 0) return 2;
  if (caffe2::why_not(*tensor, 3).find("a tensor of 3 items") == std::string::npos) return 3;
  if (caffe2::why_not(*tensor, 2).find("no fault was found") == std::string::npos) return 4;
  ws.CreateBlob("sample")->GetMutable<caffe2::Sample>();
  return ws.GetBlob("sample")->Get<caffe2::Sample>().weight == 1 ? 0 : 5;
}
