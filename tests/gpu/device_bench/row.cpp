#include "row.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "report.hpp"
#include "settings.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Spread spread(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t last = samples.size() - 1;
  const double middle = samples.size() % 2 ? samples[last / 2] : (samples[last / 2] + samples[last / 2 + 1]) / 2;
  return {samples[last / 10], middle, samples[last - last / 10]};
}

bool Row::kept() const {
  return bound.share == 0 || times[0].median <= bound.share * times[bound.against].median;
}

std::string Row::bound_sentence() const {
  return bound.share == 0 ? "" : "<= " + readable_number("%g", bound.share) + " of " + names[bound.against];
}

Row measure(const std::string& id, const std::string& description, const std::vector<Contestant>& contestants,
            double seconds, const Bound& bound) {
  std::vector<std::vector<double>> samples(contestants.size());
  const auto start = std::chrono::steady_clock::now();
  const int kLeast = 3, kMost = 1000;
  const double kVeryLong = 8;
  for (int round = 0; round <= kMost; ++round) {
    const double taken = seconds_since(start) / seconds;
    if ((round > kLeast && taken > 1) || (round > 1 && taken > kVeryLong)) break;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < contestants.size(); ++i) order.push_back(i);
    for (std::size_t i = round > 0 ? contestants.size() : 0; i-- > 0;) order.push_back(i);
    if (round > 0 && round % 2 == 0) {
      std::rotate(order.begin(), order.begin() + static_cast<long>(contestants.size()), order.end());
    }
    for (const std::size_t who : order) {
      const double time = contestants[who].once();
      if (round > 0) samples[who].push_back(time);
    }
  }
  Row row;
  row.id = id;
  row.description = description;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    row.names.push_back(contestants[i].name);
    row.times.push_back(spread(samples[i]));
  }
  row.samples = samples[0].size();
  row.bound = bound;
  return row;
}

std::string readable_bytes(std::size_t bytes) {
  if (bytes >= kGiB) return std::to_string(bytes / kGiB) + " GiB";
  if (bytes >= kMiB) return std::to_string(bytes / kMiB) + " MiB";
  if (bytes >= kKiB) return std::to_string(bytes / kKiB) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string readable_number(const char* how, double value) {
  char text[64];
  std::snprintf(text, sizeof text, how, value);
  return text;
}

std::string readable_time(double nanoseconds) {
  if (nanoseconds >= 0.9995e9) return readable_number("%.3g s", nanoseconds / 1e9);
  if (nanoseconds >= 0.9995e6) return readable_number("%.3g ms", nanoseconds / 1e6);
  if (nanoseconds >= 0.9995e3) return readable_number("%.3g us", nanoseconds / 1e3);
  return readable_number("%.3g ns", nanoseconds);
}

std::string heading(const std::vector<std::string>& names) {
  std::string first = "| |", second = "|---|";
  for (std::size_t i = 0; i < names.size(); ++i) {
    first += " " + names[i] + (i > 0 ? " | ratio |" : " |");
    second += i > 0 ? "---|---|" : "---|";
  }
  return first + " bound |\n" + second + "---|";
}

std::string as_markdown(const Row& row) {
  std::string line = "| " + row.description + " |";
  for (std::size_t i = 0; i < row.times.size(); ++i) {
    const Spread& time = row.times[i];
    line += " " + readable_time(time.median) + " [" + readable_time(time.p10) + " - " + readable_time(time.p90) + "] |";
    if (i > 0) line += " " + readable_number("%.3f", row.times[0].median / time.median) + " |";
  }
  const std::string bound = row.bound_sentence();
  if (bound.empty()) return line + " |";
  line += " " + bound;
  return line + (row.kept() ? ": kept |" : ": MISSED |");
}

std::string as_json(const Row& row) {
  std::string text = "\"id\": " + report::quoted(row.id) + ", \"samples\": " + std::to_string(row.samples) + ", \"nanoseconds\": {";
  for (std::size_t who = 0; who < row.times.size(); ++who) {
    const Spread& time = row.times[who];
    text += std::string(who ? ", " : "") + report::quoted(row.names[who]) + ": {\"median\": ";
    text += readable_number("%.1f", time.median) + ", \"p10\": " + readable_number("%.1f", time.p10);
    text += ", \"p90\": " + readable_number("%.1f", time.p90) + "}";
  }
  text += "}";
  if (row.bound.share == 0) return text;
  return text + ", \"bound\": " + report::quoted(row.bound_sentence()) + ", \"kept\": " + (row.kept() ? "true" : "false");
}
