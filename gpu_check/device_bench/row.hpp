// A row of figures: the same work by several contestants, in turn, and what the library has to keep to.
#ifndef DEVICE_BENCH_ROW_HPP_
#define DEVICE_BENCH_ROW_HPP_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

struct Spread {
  double p10, median, p90;
};
Spread spread(std::vector<double> samples);

// Who does the work; the library is the first of a row.
struct Contestant {
  std::string name;
  std::function<double()> once;  // nanoseconds
};

struct Bound {
  enum Kind { kNone, kBandwidth, kAbove, kNoSlower };
  Kind kind;
  double value;  // kBandwidth: share of the raw one's; kAbove: nanoseconds; kNoSlower: ratio of the times
};

struct Row {
  std::string id, description;
  std::size_t bytes;  // 0: not about bytes
  std::vector<std::string> names;
  std::vector<Spread> times;
  std::size_t samples;
  Bound bound;

  // The one that the bound is about: the last, which is the CUDA runtime where there is one.
  const Spread& compared() const { return times.back(); }
  bool kept() const;
  std::string bound_sentence() const;
};

// Runs it for about so many seconds, at least three rounds. A round goes through the contestants and back, so that
// none is always the first; the first round is thrown away.
Row measure(const std::string& id, const std::string& description, std::size_t bytes,
            const std::vector<Contestant>& contestants, double seconds, const Bound& bound);

std::string readable_bytes(std::size_t bytes);
std::string readable_time(double nanoseconds);

// One line of a Markdown table; the heading; the whole as JSON.
std::string heading(const std::string& raw, const std::string& runtime);
std::string as_markdown(const Row& row);
std::string as_json(const std::vector<Row>& rows, const std::vector<std::pair<std::string, std::string>>& about);

#endif  // DEVICE_BENCH_ROW_HPP_
