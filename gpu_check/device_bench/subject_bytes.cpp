#include "subject_bytes.hpp"

#include <cstring>

#include "pattern.hpp"
#include "report.hpp"

std::string wrong_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                        unsigned char* readback) {
  const std::size_t bytes = subject.bytes();
  if (to_device) {
    std::memcpy(subject.written_host(), expected, bytes);
    driver.fill(subject.device(), bytes, kPoison);
    subject.read_device();
    std::memset(readback, kPoison, bytes);
    driver.copy(readback, subject.device(), bytes);
    return difference(readback, expected, bytes);
  }
  void* const device = subject.written_device();
  std::memcpy(readback, expected, bytes);
  driver.copy(device, readback, bytes);
  std::memset(subject.host(), kPoison, bytes);
  subject.read_host();
  return difference(subject.host(), expected, bytes);
}

bool compare_bytes(const Driver& driver, const Subject& subject, bool to_device, const unsigned char* expected,
                   unsigned char* readback, const std::string& what) {
  const std::string wrong = wrong_bytes(driver, subject, to_device, expected, readback);
  if (wrong.empty()) report::passed();
  else report::failed("bytes of " + what, wrong);
  return wrong.empty();
}
