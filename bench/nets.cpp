// Makes, runs and ends nets of Debian's Caffe, for callgrind to count: instructions.py reads the dumps.
// usage: LD_PRELOAD=LIBRARIES valgrind --tool=callgrind --collect-atstart=no nets TITLE LIBCAFFE
#include <dlfcn.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// caffe::Net<float>, without Caffe's headers.
struct Caffe {
  using Make = void (*)(void* net, const std::string& file, int phase, int level, const std::vector<std::string>* stages);
  using Run = const void* (*)(void* net, float* loss);
  Make make;
  Run run;

  explicit Caffe(const char* path) {
    void* const opened = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const auto find = [=](const char* symbol) { return opened == nullptr ? nullptr : dlsym(opened, symbol); };
    make = reinterpret_cast<Make>(
        find("_ZN5caffe3NetIfEC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_5PhaseEiPKSt6vectorIS7_SaIS7_EE"));
    run = reinterpret_cast<Run>(find("_ZN5caffe3NetIfE7ForwardEPf"));
    if (make != nullptr && run != nullptr) return;
    std::fprintf(stderr, "nets: %s is not Debian's Caffe\n", path);
    std::exit(2);
  }

  void net(const std::string& file) const {
    void* const net = std::calloc(1, 4096);
    make(net, file, 1, 0, nullptr);
    run(net, nullptr);
    // The destructor is in the first slot of the table of virtual functions.
    (**static_cast<void (***)(void*)>(net))(net);
    std::free(net);
  }
};

// Writes convolutions and ReLUs in turns, after one layer without inputs.
void write_net(const std::string& file, long layers) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr) std::exit(2);
  std::fputs("layer { name: 'd' type: 'Input' top: 'b0' input_param { shape { dim: 2 dim: 2 dim: 4 dim: 4 } } }\n", out);
  for (long i = 0; i < layers; ++i) {
    std::fprintf(out, "layer { name: 'l%ld' bottom: 'b%ld' top: 'b%ld' %s }\n", i, i, i + 1,
                 i % 2 != 0 ? "type: 'ReLU'" : "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 }");
  }
  std::fclose(out);
}

// The layers of a net, and the number of nets.
struct Row {
  long layers, nets;
  std::string name;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: nets TITLE LIBCAFFE\n");
    return 2;
  }
  const Caffe caffe(argv[2]);
  const std::string file = "/tmp/syncedmem-count-" + std::to_string(getpid()) + ".prototxt";
  // Callgrind reads a dump's name later, so the rows keep it.
  std::vector<Row> rows = {{1, 1, ""}, {100, 1, ""}, {1000, 1, ""}, {1, 1000, ""}};
  for (Row& row : rows) {
    row.name = std::string("nets ") + argv[1] + " " + std::to_string(row.layers) + " " + std::to_string(row.nets);
    write_net(file, row.layers);
    caffe.net(file);
    CALLGRIND_TOGGLE_COLLECT;
    for (long i = 0; i < row.nets; ++i) caffe.net(file);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(row.name.c_str());
  }
  std::remove(file.c_str());
}
