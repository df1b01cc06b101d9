// What is measured: each function prints the rows of one subject.
#ifndef BENCH_ROWS_HPP_
#define BENCH_ROWS_HPP_

#include "bench.hpp"

// Calls that have little to do; blocks that were given back a moment before.
void call_rows(Bench& bench);
void cached_rows(Bench& bench);

// Fresh memory of one object.
void touch_rows(Bench& bench);

// A network's memory, made anew for each image; Faster R-CNN's takes gigabytes, and a minute.
void net_rows(Bench& bench, bool faster_rcnn);

// Many objects; objects of random sizes; objects that pass from one thread to another. These and the networks' run in processes of
// their own.
void small_rows(Bench& bench);
void random_rows(Bench& bench);
void passing_rows(Bench& bench);

// Threads with objects of their own; threads that read one object. The latter last of all: where
// readers race, the original leaks what the losers allocated.
void thread_rows(Bench& bench);
void scaling_rows(Bench& bench);
void reader_rows(Bench& bench);

// The math of blobs beside OpenBLAS's. Ids begin with "openblas.".
void math_rows(const Library& library, const Settings& settings);

#endif  // BENCH_ROWS_HPP_
