// Runs work on two libraries in turn, and prints every sample for report.py.
#ifndef BENCH_BENCH_HPP_
#define BENCH_BENCH_HPP_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "library.hpp"

const std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Settings {
  bool quick = false;
  std::vector<std::string> only;  // prefixes of ids; none: all
  std::vector<int> cpus;          // those this process may run on
  std::vector<std::string> command;  // starts this program again, with the same libraries
};

struct Figure {
  std::string id, unit, description;
};

// How often work is done.
struct Effort {
  int rounds;
  int quick_rounds;
  // Before each sample the same once more, untimed; and before the first round another one. Not where
  // the work sees to that itself.
  bool warm;
};

// One value per figure that the work yields; none if it cannot be measured here.
typedef std::function<std::vector<double>(const Library&)> Work;

class Bench {
 public:
  // Ids of rows with another rival than the original begin with its name.
  Bench(const Library& rival, const Library& library, const Settings& settings)
      : rival_(rival), library_(library), settings_(settings) {}

  const Settings& settings() const { return settings_; }
  bool against_original() const { return rival_.name == "original"; }

  // Rounds of rival, library, library, rival.
  void run(const Effort& effort, const std::vector<Figure>& figures, const Work& work);
  void run(int rounds, const std::vector<Figure>& figures, const Work& work);

  // The same with a task (task.hpp) in two processes of their own, which take turns. The rows after it may be those of
  // their peak memory and of their page faults.
  struct Task {
    std::string history;
    std::vector<std::string> words;
    std::string peak_id, peak_description;      // empty: none
    std::string faults_id, faults_description;  // empty: none
  };
  void run(const Effort& effort, const Figure& figure, const Task& task);

 private:
  void print(const Figure& figure, const std::vector<double>& of_rival, const std::vector<double>& of_library) const;
  std::string full_id(const Figure& figure) const;
  // Says what is measured next; false if it is not wanted.
  bool begin(const Figure& figure) const;

  const Library& rival_;
  const Library& library_;
  const Settings& settings_;
};

std::string readable(std::size_t bytes);

#endif  // BENCH_BENCH_HPP_
