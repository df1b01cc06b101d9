// A row of figures: the same work by several contestants, in turn, and the library's bound.
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

// The library is a row's first.
struct Contestant {
  std::string name;
  std::function<double()> once;  // nanoseconds
};

// The most that the library may take of the time of another contestant; 0: no bound.
struct Bound {
  double share;
  std::size_t against;
};
const Bound kNoBound = {0, 0};

struct Row {
  std::string id, description;
  std::vector<std::string> names;
  std::vector<Spread> times;
  std::size_t samples;
  Bound bound;

  bool kept() const;
  std::string bound_sentence() const;
};

// For about so many seconds: three rounds at least, or one that takes very long. A round goes through the contestants
// and back. The first round is thrown away.
Row measure(const std::string& id, const std::string& description, const std::vector<Contestant>& contestants,
            double seconds, const Bound& bound);

std::string readable_bytes(std::size_t bytes);
std::string readable_time(double nanoseconds);
std::string readable_number(const char* how, double value);

// One line of a Markdown table; the heading for contestants of these names; the row as members of a JSON object.
std::string heading(const std::vector<std::string>& names);
std::string as_markdown(const Row& row);
std::string as_json(const Row& row);

#endif  // DEVICE_BENCH_ROW_HPP_
