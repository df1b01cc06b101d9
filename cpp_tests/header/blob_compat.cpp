// Code written for Caffe's Blob, with a forward declaration of it in a user's header.
namespace caffe {
template <typename Dtype>
class Blob;
}  // namespace caffe

namespace user {
float first(const caffe::Blob<float>& blob);
}  // namespace user

#include "syncedmem/blob/compat.hpp"

namespace caffe {

template <typename Dtype>
Dtype Last(const Blob<Dtype>& blob) {
  return blob.cpu_data()[blob.count() - 1];
}

void Fill(Blob<float>* blob, float value) {
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = value;
}

template class Blob<float>;
template class Blob<double>;

}  // namespace caffe

namespace user {

float first(const caffe::Blob<float>& blob) { return blob.data_at(0, 0, 0, 0); }

/// A blob with a name.
class Named : public caffe::Blob<float> {
 public:
  Named(const caffe::string& name, const caffe::vector<int>& shape) : caffe::Blob<float>(shape), name_(name) {}
  caffe::string title() const { return name_ + " " + shape_string(); }

 private:
  caffe::string name_;
};

}  // namespace user

int main() {
  caffe::Blob<float> blob(1, 1, 1, kMaxBlobAxes);
  Fill(&blob, 3);  // found by argument-dependent lookup
  if (Last(blob) != 3 || user::first(blob) != 3) return 1;
  user::Named named("weights", {2, 3});
  caffe::Blob<float>* base = &named;
  Fill(base, 4);
  if (named.title() != "weights 2 3 (6)" || named.asum_data() != 24) return 2;
  caffe::shared_ptr<caffe::Blob<float>> shared(new caffe::Blob<float>());
  shared->ReshapeLike(named);
  shared->ShareData(named);
  return shared->data().get() == base->data().get() && caffe::SyncedMemory().size() == 0 ? 0 : 3;
}
