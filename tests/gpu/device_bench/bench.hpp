// Shared by the sections: contestants, room, time and tables.
#ifndef DEVICE_BENCH_BENCH_HPP_
#define DEVICE_BENCH_BENCH_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "libraries.hpp"
#include "row.hpp"
#include "settings.hpp"
#include "watch.hpp"

class Bench {
 public:
  // `seconds`: for the section, unless the command line says it.
  Bench(const Settings& settings, const Driver& driver, const Runtime& runtime, const Library& library, double seconds);

  const Settings settings;
  const Driver& driver;
  const Runtime& runtime;
  const Library& library;

  // The largest size: `usual` unless the command line says it.
  std::size_t largest(std::size_t usual) const;
  double seconds_left() const { return seconds_ - watch_.nanoseconds() / 1e9; }
  // Rows to come, which share the time that is left.
  void plan(std::size_t rows) { rows_to_come_ = rows; }

  // A table of these contestants; with none, a section without a table.
  void section(const std::string& title, const std::vector<std::string>& names) const;
  // A paragraph.
  void say(const std::string& sentence) const;
  // Measures, prints and judges a row; it is skipped if the time is up. On the simulated driver no time is judged.
  void row(const std::string& id, const std::string& description,
           const std::vector<Contestant>& contestants, const Bound& bound = kNoBound);
  // Of the simulated driver's log.
  void expect(const std::string& sentence, bool held) const;

  // With half as much to spare, because free memory is fragmented.
  bool fits(std::size_t device_bytes, std::size_t host_bytes) const;

 private:
  const double seconds_;
  const Watch watch_;
  std::size_t rows_to_come_ = 1;
};

#endif  // DEVICE_BENCH_BENCH_HPP_
