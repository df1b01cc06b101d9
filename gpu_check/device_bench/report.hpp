// The output of a section's process: counts, lines that scripts/gpu-check collects, and JSON.
#ifndef DEVICE_BENCH_REPORT_HPP_
#define DEVICE_BENCH_REPORT_HPP_

#include <string>

namespace report {

// The name that the last line begins with, and the file that gets a JSON object per line; empty for none.
void begin(const std::string& name, const std::string& json);

void passed(unsigned count = 1);
// "not ok: WHAT: DETAIL". Only the first forty are printed; all are counted.
void failed(const std::string& what, const std::string& detail, unsigned count = 1);
// "skipped: WHAT: REASON"
void skipped(const std::string& what, const std::string& reason, unsigned count = 1);
// "verdict: SWITCH: on|off|open: FIGURES". On the simulated driver every verdict is open.
void verdict(const std::string& name, bool simulated, bool on, const std::string& figures);
void open_verdict(const std::string& name, const std::string& why);
// Adds what another process counted.
void add(unsigned passed, unsigned failed, unsigned skipped);

// Writes {"section": NAME, MEMBERS} as one line.
void record(const std::string& members);
std::string quoted(const std::string& text);

// Prints the last line. Returns the exit status: 0 all passed, 1 something failed, 77 nothing ran.
int end();
// A failure after which nothing more can be measured: counts it, prints the last line and ends the process.
[[noreturn]] void give_up(const std::string& sentence);

}  // namespace report

#endif  // DEVICE_BENCH_REPORT_HPP_
