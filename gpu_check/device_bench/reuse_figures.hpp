// The figures for and against SYNCEDMEM_REUSE=stream: both modes in the same rows.
#ifndef DEVICE_BENCH_REUSE_FIGURES_HPP_
#define DEVICE_BENCH_REUSE_FIGURES_HPP_

#include <algorithm>
#include <string>

#include "report.hpp"
#include "row.hpp"

// The first column (synchronised) by the second (stream).
class ReuseFigures {
 public:
  void add(const Row& row) {
    const double gain = row.times[0].median / row.times[1].median;
    least_ = count_ ? std::min(least_, gain) : gain;
    most_ = count_ ? std::max(most_, gain) : gain;
    ++count_;
  }
  // On if stream is 1.3 times as fast in every row: callers have to declare their streams.
  void conclude(bool simulated, const std::string& of) const {
    if (count_ == 0) return report::open_verdict("SYNCEDMEM_REUSE", of + ": nothing was measured");
    report::verdict("SYNCEDMEM_REUSE", simulated, least_ >= 1.3,
                    of + ": stream is " + readable_number("%.2f", least_) + " to " + readable_number("%.2f", most_) +
                        " times as fast as synchronised in " + std::to_string(count_) + " rows (on from 1.3 in each)");
  }

 private:
  double least_ = 0, most_ = 0;
  unsigned count_ = 0;
};

#endif  // DEVICE_BENCH_REUSE_FIGURES_HPP_
