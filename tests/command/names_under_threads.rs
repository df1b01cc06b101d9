//! Threads that make, reshape and run nets at once: all memory has the name of its layer, as with one thread.

use crate::net_like::{self, LINKED};

const PROGRAM: &str = r#"
    #include "caffe.hpp"
    #include <cstdlib>
    #include <mutex>
    #include <thread>
    template <typename L> caffe::Layer<float> *make() { return new L; }
    int main(int, char **argument) {
      caffe::NetParameter parameters;
      parameters.layers.emplace_back("d", make<caffe::InputLayer<float>>);
      for (int i = 0; i < 9; ++i) parameters.layers.emplace_back("r" + std::to_string(i), make<caffe::ReLULayer<float>>);
      std::vector<std::thread> threads;
      std::vector<std::unique_ptr<caffe::Net<float>>> nets;
      std::mutex mutex;
      for (int thread = atoi(argument[1]); thread; --thread) {
        threads.emplace_back([&] {
          for (int made = 0; made < 5; ++made) {
            std::unique_ptr<caffe::Net<float>> net(new caffe::Net<float>(parameters));
            for (int i = 0; i < 6; ++i) {
              net->blobs()[0]->Reshape({1 + i / 2, 64, 64});
              net->Reshape();
              net->blobs()[0]->mutable_cpu_data();
              net->ForwardFromTo(0, 9);
            }
            std::lock_guard<std::mutex> guard(mutex);
            nets.push_back(std::move(net));
          }
        });
      }
      for (auto &thread : threads) thread.join();
    }
"#;

#[test]
fn all_memory_of_nets_that_threads_make_at_once_has_a_layers_name() {
    let workshop = net_like::workshop();
    workshop.source("program.cpp", PROGRAM);
    workshop.compile("program", &[&["-fPIC", "-O1", "program.cpp", "-lpthread"], &LINKED[..]].concat());
    for threads in ["1", "8"] {
        let result = workshop.run(&[], &["./program", threads]);
        assert_eq!(result.status, Some(0), "{result:?}");
        result.has(&["d data", "r0 output", "inside layers", "at batch 3, one more item costs"]);
        assert!(!result.error.contains("without a layer's name"), "{threads} threads: {}", result.error);
    }
}
