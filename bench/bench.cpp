#include "bench.hpp"

#include <algorithm>
#include <cstdio>

#include "child.hpp"

namespace {

typedef std::vector<std::vector<double>> Samples;  // by figure

// False if it cannot be measured.
bool take(const Work& work, const Library& library, bool warm, bool keep, Samples& into) {
  // Once untimed, so that a sample finds what its own library left behind, not the other: a virtual
  // machine gives freed huge pages back to its host after a moment, and has to fault them in anew.
  if (warm) work(library);
  const std::vector<double> values = work(library);
  for (std::size_t i = 0; keep && i < values.size(); ++i) into[i].push_back(values[i]);
  return !values.empty();
}

void print_samples(const std::vector<double>& samples) {
  std::putchar('\t');
  for (std::size_t i = 0; i < samples.size(); ++i) std::printf(i ? " %.3f" : "%.3f", samples[i]);
}

}  // namespace

std::string Bench::full_id(const Figure& figure) const {
  return (against_original() ? "" : rival_.name + ".") + figure.id;
}

bool Bench::begin(const Figure& figure) const {
  const std::string id = full_id(figure);
  const std::vector<std::string>& only = settings_.only;
  const bool wanted = only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& prefix) {
    return id.compare(0, prefix.size(), prefix) == 0;
  });
  if (wanted) {
    const std::string against = against_original() ? "" : rival_.name + ": ";
    std::fprintf(stderr, "    %s%s\n", against.c_str(), figure.description.c_str());
  }
  return wanted;
}

void Bench::print(const Figure& figure, const std::vector<double>& of_rival,
                  const std::vector<double>& of_library) const {
  std::printf("row\t%s\t%s\t%s\t%s", full_id(figure).c_str(), figure.unit.c_str(), rival_.name.c_str(),
              figure.description.c_str());
  print_samples(of_rival);
  print_samples(of_library);
  std::putchar('\n');
  std::fflush(stdout);
}

void Bench::run(const Effort& effort, const std::vector<Figure>& figures, const Work& work) {
  if (!begin(figures[0])) return;
  Samples of_rival(figures.size()), of_library(figures.size());
  const int rounds = settings_.quick ? effort.quick_rounds : effort.rounds;
  for (int round = effort.warm ? 0 : 1; round <= rounds; ++round) {
    // Round 0 faults in code, warms the allocator, and is thrown away.
    const bool keep = round > 0;
    const bool measured = take(work, rival_, effort.warm, keep, of_rival) &&
                          take(work, library_, effort.warm, keep, of_library) &&
                          take(work, library_, effort.warm, keep, of_library) &&
                          take(work, rival_, effort.warm, keep, of_rival);
    if (!measured) {
      std::fprintf(stderr, "    ... cannot be measured here\n");
      return;
    }
  }
  for (std::size_t i = 0; i < figures.size(); ++i) print(figures[i], of_rival[i], of_library[i]);
}

void Bench::run(int rounds, const std::vector<Figure>& figures, const Work& work) {
  run(Effort{rounds, std::max(3, rounds / 5), true}, figures, work);
}

void Bench::run(const Effort& effort, const Figure& figure, const Task& task) {
  if (!begin(figure)) return;
  Worker rival(settings_.command, rival_, task.history, task.words);
  Worker library(settings_.command, library_, task.history, task.words);
  std::vector<double> of_rival, of_library;
  const int rounds = settings_.quick ? effort.quick_rounds : effort.rounds;
  for (int round = effort.warm ? 0 : 1; round <= rounds; ++round) {
    const double samples[] = {rival.sample(), library.sample(), library.sample(), rival.sample()};
    if (round == 0) continue;
    of_rival.insert(of_rival.end(), {samples[0], samples[3]});
    of_library.insert(of_library.end(), {samples[1], samples[2]});
  }
  print(figure, of_rival, of_library);
  if (!task.faults_id.empty()) {
    print({task.faults_id, "count", task.faults_description}, {rival.faults()}, {library.faults()});
  }
  if (task.peak_id.empty()) return;
  print({task.peak_id, "bytes", task.peak_description}, {rival.peak()}, {library.peak()});
}

std::string readable(std::size_t bytes) {
  if (bytes >= kGiB) return std::to_string(bytes / kGiB) + " GiB";
  if (bytes >= kMiB) return std::to_string(bytes / kMiB) + " MiB";
  if (bytes >= kKiB) return std::to_string(bytes / kKiB) + " KiB";
  return std::to_string(bytes) + " B";
}
