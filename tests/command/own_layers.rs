//! Layers that are none of Caffe's, whatever their classes are called: on shared memory they compute what they compute without, because
//! what they touch is kept apart.

use crate::caffe_like::*;
use crate::support::assert_has;

/// Caffe's nets, layers and blobs, as small as they are read.
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
      shared_ptr<SyncedMemory> data_, diff_;
      vector<int> shape_;
      size_t count_ = 0;
    };
    template <typename Dtype> struct Layer {
      typedef vector<Blob<Dtype> *> Blobs;
      virtual ~Layer() {}
      virtual void Reshape(const Blobs &, const Blobs &top) { top[0]->Reshape({1, 64, 64}); }
      vector<shared_ptr<Blob<Dtype>>> &blobs();
      virtual void Forward_cpu(const Blobs &bottom, const Blobs &top) = 0;
      virtual void Forward_gpu(const Blobs &bottom, const Blobs &top) { Forward_cpu(bottom, top); }
      virtual void Backward_cpu(const Blobs &top, const vector<bool> &propagate, const Blobs &bottom) {}
      virtual void Backward_gpu(const Blobs &top, const vector<bool> &propagate, const Blobs &bottom) {}
     private:
      vector<shared_ptr<Blob<Dtype>>> blobs_;
    };
    template <typename Dtype> struct InputLayer : Layer<Dtype> {
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

/// A layer writes only half of its top, and relies on zeros in the rest: Caffe's new memory has them.
const PLUGIN: &str = r#"
    #include "caffe.hpp"
    #define HALF override { \
      float *out = top[0]->mutable_cpu_data(); \
      for (size_t i = 0; i < top[0]->count(); i += 2) out[i] = bottom[0]->cpu_data()[i] + 1; \
    }
    #define BLOBS const std::vector<caffe::Blob<float> *>
    namespace caffe {
    template <typename Dtype> struct TileLayer : Layer<Dtype> { void Forward_cpu(BLOBS &bottom, BLOBS &top) HALF };
    }
    extern "C" caffe::Layer<float> *plugin() { return new caffe::TileLayer<float>; }
"#;

const PROGRAM: &str = r#"
    #include "plugin.cpp"
    #include <cstdio>
    #include <cstring>
    #include <dlfcn.h>
    namespace mosaic {
    template <typename Dtype> struct TileLayer : caffe::Layer<Dtype> { void Forward_cpu(BLOBS &bottom, BLOBS &top) HALF };
    template <typename Dtype> struct ReLULayer : caffe::ReLULayer<Dtype> { void Forward_cpu(BLOBS &bottom, BLOBS &top) HALF };
    struct Extra { virtual int extra() { return 1; } long more[3]; };
    template <typename Dtype> struct TanHLayer : Extra, caffe::Layer<Dtype> { void Forward_cpu(BLOBS &bottom, BLOBS &top) HALF };
    template <typename Dtype> struct ELULayer : virtual caffe::ReLULayer<Dtype> { void Forward_cpu(BLOBS &bottom, BLOBS &top) HALF };
    }
    struct OwnNet : caffe::Net<float> { using caffe::Net<float>::Net; std::vector<int> more{1, 2, 3}; };
    template <typename L> caffe::Layer<float> *make() { return new L; }
    static void use(caffe::Net<float> &net) {
      const int last = net.layers().size() - 1;
      for (int pass = 1; pass < 4; ++pass) {
        float *data = net.blobs()[0]->mutable_cpu_data();
        for (int i = 0; i < 64 * 64; ++i) data[i] = (i * 7 + pass) % 11 - 5;
        net.ForwardFromTo(0, last);
        double sum = 0;
        for (int i = 0; i < 64 * 64; ++i) sum += net.blobs()[last]->cpu_data()[i] * (i % 13);
        printf("%.3f\n", sum);
      }
    }
    int main(int, char **argument) {
      const auto relu = make<caffe::ReLULayer<float>>;
      std::function<caffe::Layer<float> *()> own = relu;
      const std::string which = argument[1];
      if (which == "in another namespace") own = make<mosaic::TileLayer<float>>;
      if (which == "in Caffe's namespace") own = make<caffe::TileLayer<float>>;
      if (which == "a subclass") own = make<mosaic::ReLULayer<float>>;
      if (which == "of two classes") own = make<mosaic::TanHLayer<float>>;
      if (which == "of a virtual class") own = make<mosaic::ELULayer<float>>;
      if (which == "of a plugin") own = (caffe::Layer<float> *(*)())dlsym(dlopen("./plugin.so", RTLD_NOW), "plugin");
      caffe::NetParameter net;
      net.layers = {{"d", make<caffe::InputLayer<float>>}, {"r1", relu}, {"r2", relu}, {"r3", relu}, {"own", own}, {"r4", relu}, {"r5", relu}};
      { caffe::Net<float> here(net); use(here); }
      for (int i = 0; i < 2; ++i) {
        std::unique_ptr<caffe::Net<float>> heap(new caffe::Net<float>(net)), subclass(new OwnNet(net));
        use(*heap);
        use(*subclass);
      }
      caffe::NetParameter shorter;
      shorter.layers = {net.layers[0], net.layers[4], net.layers[1]};
      caffe::Net<float> here(shorter);
      use(here);
    }
"#;

#[test]
fn a_layer_that_is_none_of_caffes_computes_the_same_on_shared_memory() {
    let workshop = Workshop::new();
    for (source, text) in
        [("caffe.hpp", HEADER), ("caffe.cpp", CAFFE), ("plugin.cpp", PLUGIN), ("program.cpp", PROGRAM)]
    {
        workshop.source(source, text);
    }
    workshop.compile("libcaffe.so", &["-std=c++11", "-shared", "-fPIC", "-O1", "caffe.cpp"]);
    let linked = ["-std=c++11", "-L.", "-lcaffe", "-ldl", "-Wl,-rpath,$ORIGIN"];
    workshop.compile("plugin.so", &[&["-shared", "-fPIC", "-O1", "plugin.cpp"], &linked[..]].concat());
    workshop.compile("program", &[&["-rdynamic", "-fPIC", "-O1", "program.cpp"], &linked[..]].concat());
    let all = |which: &str, options: &[&str]| {
        workshop.run(&[&["-q", "--share=all"], options].concat(), &["./program", which])
    };
    let shares = "libsyncedmem: shared memory needed";
    let caffes = all("none", &["--junk-fill"]);
    assert_eq!(caffes.status, Some(0), "{caffes:?}");
    assert_has(&caffes.error, &[shares]);
    assert!(!caffes.error.contains("unknown type"), "{}", caffes.error);
    for which in [
        "in another namespace",
        "in Caffe's namespace",
        "a subclass",
        "of two classes",
        "of a virtual class",
        "of a plugin",
    ] {
        let mut alone = std::process::Command::new(workshop.path("program"));
        let alone = said(alone.arg(which).current_dir(&**workshop)).ok();
        assert_eq!(alone.lines().count(), 18);
        for options in [&["--junk-fill"][..], &[]] {
            let shared = all(which, options);
            assert_eq!((shared.status, &shared.output), (Some(0), &alone), "{which}: {}", shared.error);
            assert_has(&shared.error, &[shares, "kept apart (a layer of an unknown type touches it): own, r3"]);
        }
    }
}
