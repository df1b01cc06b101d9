// The bytes of a copy as the timed ones are, compared by cuMemcpy.
#ifndef DEVICE_BENCH_SUBJECT_BYTES_HPP_
#define DEVICE_BENCH_SUBJECT_BYTES_HPP_

#include <string>

#include "work.hpp"

// `readback` has room for the subject's bytes. Empty, or what is wrong.
std::string wrong_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                        unsigned char* readback);
// Counted as passed or failed.
bool compare_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                   unsigned char* readback, const std::string& what);

#endif  // DEVICE_BENCH_SUBJECT_BYTES_HPP_
