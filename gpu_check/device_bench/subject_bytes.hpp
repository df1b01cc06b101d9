// The bytes of a copy as the timed ones are, compared with what cuMemcpy fetches or has put there.
#ifndef DEVICE_BENCH_SUBJECT_BYTES_HPP_
#define DEVICE_BENCH_SUBJECT_BYTES_HPP_

#include <string>

#include "work.hpp"

// One more copy of `expected`, in one direction. `readback` has room for the subject's bytes. Empty, or what is wrong.
std::string wrong_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                        unsigned char* readback);
// The same, counted as passed or failed. Whether it was right.
bool compare_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                   unsigned char* readback, const std::string& what);

#endif  // DEVICE_BENCH_SUBJECT_BYTES_HPP_
