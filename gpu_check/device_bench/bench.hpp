// What the sections have in common: who is compared, what there is room for, and where the rows go.
#ifndef DEVICE_BENCH_BENCH_HPP_
#define DEVICE_BENCH_BENCH_HPP_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "libraries.hpp"
#include "row.hpp"
#include "settings.hpp"

class Bench {
 public:
  Bench(const Settings& settings, const Driver& driver, const Runtime& runtime, const Library& library);

  const Settings settings;
  const Driver& driver;
  const Runtime& runtime;
  const Library& library;

  bool wants(const std::string& section) const;
  // Begins a table of these contestants, or with none of them a section without a table.
  void section(const std::string& title, const std::vector<std::string>& names) const;
  // A paragraph.
  void say(const std::string& sentence) const;
  Row measure(const std::string& id, const std::string& description, std::size_t bytes,
              const std::vector<Contestant>& contestants, const Bound& bound) const;
  // A row is judged, unless the driver is simulated: that is not fast or slow in the places where a GPU is.
  void add(Row row);
  // The row that was added last.
  const Row& last() const { return rows_.back(); }
  // What only the simulated driver can tell, of its log: judged there.
  void expect(const std::string& sentence, bool held);
  // A figure that others work with.
  void conclude(const std::string& name, const std::string& value) { about.push_back({name, value}); }

  // Whether blocks of so many bytes fit, with a half more, since free memory lies in pieces.
  bool fits(std::size_t device_bytes, std::size_t host_bytes) const;

  int judge() const;
  std::string json() const;

  std::vector<std::pair<std::string, std::string>> about;

 private:
  struct Expectation {
    std::string sentence;
    bool held;
  };
  std::vector<Row> rows_;
  std::vector<Expectation> expectations_;
};

#endif  // DEVICE_BENCH_BENCH_HPP_
