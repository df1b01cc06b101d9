//! Layers that are none of Caffe's, whatever their classes are called: on shared memory they compute what they compute without, because
//! blobs that they touch are not shared.

use crate::caffe_like::*;
use crate::net_like::{self, LINKED};
use crate::support::assert_has;

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
    let workshop = net_like::workshop();
    workshop.source("plugin.cpp", PLUGIN);
    workshop.source("program.cpp", PROGRAM);
    workshop.compile("plugin.so", &[&["-shared", "-fPIC", "-O1", "plugin.cpp"], &LINKED[..]].concat());
    workshop.compile("program", &[&["-rdynamic", "-fPIC", "-O1", "program.cpp"], &LINKED[..]].concat());
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
            assert_has(&shared.error, &[shares, "not shared (a layer of an unknown type touches it): own, r3"]);
        }
    }
}
