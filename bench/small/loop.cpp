// The plainest measurement of small objects: one on the stack is constructed, touched, written in full and destroyed, over
// and over, on libraries in turn. A sample is shorter than a turn on a busy processor, and there are many of them: the
// least is what the work takes when nothing else runs.
// usage: loop ORIGINAL LIBRARY…
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "../clock.hpp"
#include "../library.hpp"

namespace {

const int kSamples = 400;

// Never inlined: one loop for all libraries.
__attribute__((noinline)) double touch(const Library& library, std::size_t bytes, long objects) {
  alignas(16) char object[64];
  const double start = now();
  for (long i = 0; i < objects; ++i) {
    library.construct(object, bytes);
    std::memset(library.mutable_cpu_data(object), 0x5A, bytes);
    library.destroy(object);
  }
  return (now() - start) / static_cast<double>(objects);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Library> libraries;
  for (int i = 1; i < argc; ++i) libraries.push_back(load(i == 1 ? "original" : "library", argv[i]));
  std::printf("nanoseconds for an object: median, least of %d samples; the least over the original's\n", kSamples);
  for (const std::size_t bytes : {4UL, 256UL, 1024UL, 2048UL, 4096UL, 8192UL, 16384UL, 65536UL}) {
    const long objects = 10 + 400000 / static_cast<long>(40 + bytes / 12);
    std::vector<std::vector<double>> samples(libraries.size());
    for (int round = 0; round < kSamples; ++round) {
      for (std::size_t i = 0; i < libraries.size(); ++i) samples[i].push_back(touch(libraries[i], bytes, objects));
    }
    std::printf("%6zu B", bytes);
    for (std::vector<double>& figures : samples) {
      std::sort(figures.begin(), figures.end());
      std::printf("  %8.1f %8.1f %5.2f", figures[kSamples / 2], figures[0], figures[0] / samples[0][0]);
    }
    std::printf("\n");
  }
}
