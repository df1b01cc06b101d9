// The parts of the section `bytes`, each a process.
#ifndef DEVICE_BENCH_PARTS_HPP_
#define DEVICE_BENCH_PARTS_HPP_

#include "bench.hpp"

// Copies of every kind of memory, against cuMemcpy.
void copies_with_defaults(Bench& bench);
// Blocks that were given back and are handed out again.
void reuse(Bench& bench);
// The device's primary context is reset while objects live.
void reset(Bench& bench);
void fork_of_a_user(Bench& bench);
// Ends the process with objects alive, without output.
[[noreturn]] void leave(Bench& bench, const std::string& part);

// Runs a part in this process.
void run_part(Bench& bench, const std::string& part);

#endif  // DEVICE_BENCH_PARTS_HPP_
