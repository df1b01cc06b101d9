//! A `libcaffe.so` with nets, layers and blobs, as small as libsyncedmem_net.so reads them.

use crate::caffe_like::Workshop;

/// `caffe.hpp`.
const HEADER: &str = r#"
    #include <cstddef>
    #include <functional>
    #include <memory>
    #include <string>
    #include <utility>
    #include <vector>
    #define APART __attribute__((noinline))
    namespace caffe {
    using std::shared_ptr;
    using std::vector;
    struct SyncedMemory {
      explicit SyncedMemory(size_t size);
      ~SyncedMemory();
      const void *cpu_data();
      void *mutable_cpu_data();
      void *cpu, *gpu;
      size_t size;
      int head;
      char flags[4];
      int device;
    };
    template <typename Dtype> struct Blob {
      void Reshape(const vector<int> &shape);
      const shared_ptr<SyncedMemory> &data() const;
      const shared_ptr<SyncedMemory> &diff() const;
      const vector<int> &shape() const;
      const Dtype *cpu_data() const { return (const Dtype *)data_->cpu_data(); }
      Dtype *mutable_cpu_data() { return (Dtype *)data_->mutable_cpu_data(); }
      size_t count() const { return count_; }
     private:
      shared_ptr<SyncedMemory> data_, diff_, shape_data_;
      vector<int> shape_;
      size_t count_ = 0;
    };
    template <typename Dtype> struct Layer {
      typedef vector<Blob<Dtype> *> Blobs;
      virtual ~Layer() {}
      virtual void Reshape(const Blobs &bottom, const Blobs &top) { top[0]->Reshape(bottom[0]->shape()); }
      vector<shared_ptr<Blob<Dtype>>> &blobs();
      virtual void Forward_cpu(const Blobs &bottom, const Blobs &top) = 0;
      virtual void Forward_gpu(const Blobs &bottom, const Blobs &top) { Forward_cpu(bottom, top); }
      virtual void Backward_cpu(const Blobs &top, const vector<bool> &propagate, const Blobs &bottom) {}
      virtual void Backward_gpu(const Blobs &top, const vector<bool> &propagate, const Blobs &bottom) {}
     private:
      vector<shared_ptr<Blob<Dtype>>> blobs_;
    };
    template <typename Dtype> struct InputLayer : Layer<Dtype> {
      void Reshape(const typename Layer<Dtype>::Blobs &, const typename Layer<Dtype>::Blobs &top) override;
      void Forward_cpu(const typename Layer<Dtype>::Blobs &, const typename Layer<Dtype>::Blobs &) override;
    };
    template <typename Dtype> struct ReLULayer : Layer<Dtype> {
      void Forward_cpu(const typename Layer<Dtype>::Blobs &, const typename Layer<Dtype>::Blobs &) override;
      void Backward_cpu(const typename Layer<Dtype>::Blobs &, const vector<bool> &, const typename Layer<Dtype>::Blobs &) override;
    };
    struct NetParameter { vector<std::pair<std::string, std::function<Layer<float> *()>>> layers; };
    template <typename Dtype> struct Net {
      explicit Net(const NetParameter &parameters) { Init(parameters); }
      virtual ~Net() {}
      void Init(const NetParameter &parameters);
      void Reshape();
      Dtype ForwardFromTo(int start, int end);
      int phase() const;
      const vector<std::string> &layer_names() const;
      const vector<std::string> &blob_names() const;
      const vector<shared_ptr<Layer<Dtype>>> &layers() const;
      const vector<shared_ptr<Blob<Dtype>>> &blobs() const;
      const vector<vector<Blob<Dtype> *>> &bottom_vecs() const;
      const vector<vector<Blob<Dtype> *>> &top_vecs() const;
      const vector<vector<bool>> &bottom_need_backward() const;
     private:
      vector<std::string> names_;
      vector<shared_ptr<Layer<Dtype>>> layers_;
      vector<shared_ptr<Blob<Dtype>>> blobs_;
      vector<vector<Blob<Dtype> *>> bottoms_, tops_;
      vector<vector<bool>> propagates_;
    };
    extern template struct Blob<float>;
    extern template struct InputLayer<float>;
    extern template struct ReLULayer<float>;
    extern template struct Net<float>;
    }
"#;
const CAFFE: &str = r#"
    #include "caffe.hpp"
    #include <cstdlib>
    namespace caffe {
    APART SyncedMemory::SyncedMemory(size_t size) : cpu(0), gpu(0), size(size), head(0), flags(), device(-1) {}
    APART SyncedMemory::~SyncedMemory() { free(cpu); }
    APART void *SyncedMemory::mutable_cpu_data() { head = 1; return cpu ? cpu : cpu = calloc(1, size); }
    APART const void *SyncedMemory::cpu_data() { return mutable_cpu_data(); }
    template <typename Dtype> APART void Blob<Dtype>::Reshape(const vector<int> &shape) {
      if (!shape_data_) shape_data_.reset(new SyncedMemory(shape.size() * sizeof(int)));
      *(int *)shape_data_->mutable_cpu_data() = shape[0];
      shape_ = shape;
      count_ = 1;
      for (int axis : shape) count_ *= axis;
      if (data_ && data_->size >= count_ * sizeof(Dtype)) return;
      data_.reset(new SyncedMemory(count_ * sizeof(Dtype)));
      diff_.reset(new SyncedMemory(count_ * sizeof(Dtype)));
    }
    template <typename Dtype> APART const shared_ptr<SyncedMemory> &Blob<Dtype>::data() const { return data_; }
    template <typename Dtype> APART const shared_ptr<SyncedMemory> &Blob<Dtype>::diff() const { return diff_; }
    template <typename Dtype> APART const vector<int> &Blob<Dtype>::shape() const { return shape_; }
    template <typename Dtype> APART vector<shared_ptr<Blob<Dtype>>> &Layer<Dtype>::blobs() { return blobs_; }
    template <typename Dtype>
    void InputLayer<Dtype>::Reshape(const typename Layer<Dtype>::Blobs &, const typename Layer<Dtype>::Blobs &top) {
      if (!top[0]->count()) top[0]->Reshape({1, 64, 64});
    }
    template <typename Dtype>
    void InputLayer<Dtype>::Forward_cpu(const typename Layer<Dtype>::Blobs &, const typename Layer<Dtype>::Blobs &) {}
    template <typename Dtype>
    void ReLULayer<Dtype>::Forward_cpu(const typename Layer<Dtype>::Blobs &bottom, const typename Layer<Dtype>::Blobs &top) {
      const Dtype *in = bottom[0]->cpu_data();
      Dtype *out = top[0]->mutable_cpu_data();
      for (size_t i = 0; i < top[0]->count(); ++i) out[i] = in[i] / 2 + i % 7 - 2;
    }
    template <typename Dtype>
    void ReLULayer<Dtype>::Backward_cpu(
        const typename Layer<Dtype>::Blobs &, const vector<bool> &, const typename Layer<Dtype>::Blobs &) {}
    template <typename Dtype> APART void Net<Dtype>::Init(const NetParameter &parameters) {
      const size_t count = parameters.layers.size();
      bottoms_.resize(count);
      tops_.resize(count);
      propagates_.resize(count);
      for (size_t i = 0; i < count; ++i) {
        layers_.emplace_back(parameters.layers[i].second());
        names_.push_back(parameters.layers[i].first);
        if (i > 0) bottoms_[i].push_back(blobs_.back().get());
        propagates_[i].resize(bottoms_[i].size());
        blobs_.emplace_back(new Blob<Dtype>);
        tops_[i].push_back(blobs_.back().get());
        layers_[i]->Reshape(bottoms_[i], tops_[i]);
      }
    }
    template <typename Dtype> APART Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
      for (int i = start; i <= end; ++i) layers_[i]->Forward_cpu(bottoms_[i], tops_[i]);
      return 0;
    }
    template <typename Dtype> APART void Net<Dtype>::Reshape() {
      for (size_t i = 0; i < layers_.size(); ++i) layers_[i]->Reshape(bottoms_[i], tops_[i]);
    }
    template <typename Dtype> APART int Net<Dtype>::phase() const { return 1; }
    template <typename Dtype> APART const vector<std::string> &Net<Dtype>::layer_names() const { return names_; }
    template <typename Dtype> APART const vector<std::string> &Net<Dtype>::blob_names() const { return names_; }
    template <typename Dtype> APART const vector<shared_ptr<Layer<Dtype>>> &Net<Dtype>::layers() const { return layers_; }
    template <typename Dtype> APART const vector<shared_ptr<Blob<Dtype>>> &Net<Dtype>::blobs() const { return blobs_; }
    template <typename Dtype> APART const vector<vector<Blob<Dtype> *>> &Net<Dtype>::bottom_vecs() const { return bottoms_; }
    template <typename Dtype> APART const vector<vector<Blob<Dtype> *>> &Net<Dtype>::top_vecs() const { return tops_; }
    template <typename Dtype> APART const vector<vector<bool>> &Net<Dtype>::bottom_need_backward() const { return propagates_; }
    template struct Blob<float>;
    template struct Layer<float>;
    template struct InputLayer<float>;
    template struct ReLULayer<float>;
    template struct Net<float>;
    }
"#;

/// How programs and plugins are linked with it.
pub const LINKED: [&str; 5] = ["-std=c++11", "-L.", "-lcaffe", "-ldl", "-Wl,-rpath,$ORIGIN"];

pub fn workshop() -> Workshop {
    let workshop = Workshop::new();
    workshop.source("caffe.hpp", HEADER);
    workshop.source("caffe.cpp", CAFFE);
    workshop.compile("libcaffe.so", &["-std=c++11", "-shared", "-fPIC", "-O1", "caffe.cpp"]);
    workshop
}
