// The parts of the section `bytes`: each runs in a process of its own.
#ifndef DEVICE_BENCH_PARTS_HPP_
#define DEVICE_BENCH_PARTS_HPP_

#include "bench.hpp"

// Copies of every kind of memory, against cuMemcpy.
void copies_with_defaults(Bench& bench);
// The same for what is off by default: the environment of the process turns it on.
void copies_staged(Bench& bench);
void copies_of_registered_blocks(Bench& bench);
// Blocks that were given back and are handed out again.
void reuse(Bench& bench);
// The device's primary context is reset while objects live.
void reset(Bench& bench);
// A forked process uses what its parent made.
void fork_of_a_user(Bench& bench);
// Ends the process in the way that `part` names, with objects alive. It must print nothing.
[[noreturn]] void leave(Bench& bench, const std::string& part);

// Runs a part in this process.
void run_part(Bench& bench, const std::string& part);

#endif  // DEVICE_BENCH_PARTS_HPP_
