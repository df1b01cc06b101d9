// Objects made, touched and ended on two libraries, for callgrind to count: report.py reads what it dumps.
// usage: valgrind --tool=callgrind --collect-atstart=no count ORIGINAL LIBRARY
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../library.hpp"

namespace {

// One object on the stack, constructed, touched and destroyed over and over. Never inlined: one loop for both.
__attribute__((noinline)) void touch(const Library& library, std::size_t bytes, long objects) {
  alignas(16) char object[64];
  for (long i = 0; i < objects; ++i) {
    library.construct(object, bytes);
    library.mutable_cpu_data(object);
    library.destroy(object);
  }
}

// The dump's name says what was counted. The difference between two lengths is free of what happens once.
void count(const Library& library, std::size_t bytes) {
  touch(library, bytes, 100);
  for (const long objects : {100L, 1100L}) {
    const std::string name = library.name + " " + std::to_string(bytes) + " " + std::to_string(objects);
    CALLGRIND_TOGGLE_COLLECT;
    touch(library, bytes, objects);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: count ORIGINAL LIBRARY\n");
    return 2;
  }
  for (const Library& library : {load("original", argv[1]), load("library", argv[2])}) {
    for (const std::size_t bytes : {4UL, 256UL, 4096UL, 65536UL}) count(library, bytes);
  }
}
