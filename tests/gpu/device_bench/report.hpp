// The output of a section's process.
#ifndef DEVICE_BENCH_REPORT_HPP_
#define DEVICE_BENCH_REPORT_HPP_

#include <string>

namespace report {

// The name in the last line, and the file of JSON objects, a line each; empty for none.
void begin(const std::string& name, const std::string& json);

void passed(unsigned count = 1);
// "not ok: WHAT: DETAIL". Forty are printed; all are counted.
void failed(const std::string& what, const std::string& detail, unsigned count = 1);
// "skipped: WHAT: REASON"
void skipped(const std::string& what, const std::string& reason, unsigned count = 1);
void add(unsigned passed, unsigned failed, unsigned skipped);

// Writes {"section": NAME, MEMBERS} as one line.
void record(const std::string& members);
std::string quoted(const std::string& text);

// The last line. The exit status: 0 all passed, 1 a failure, 77 nothing ran.
int end();
// Counts a failure, prints the last line and ends the process.
[[noreturn]] void give_up(const std::string& sentence);

}  // namespace report

#endif  // DEVICE_BENCH_REPORT_HPP_
