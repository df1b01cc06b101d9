// Whether copies give the right bytes. Parts run in processes of their own: some end their process, and some need
// settings that are read once. This process never opens the driver.
#include <algorithm>
#include <cstdio>

#include "child.hpp"
#include "parts.hpp"
#include "report.hpp"
#include "sections.hpp"
#include "watch.hpp"

namespace {

struct Part {
  const char* name;
  const char* title;
  double share;  // of the section's time
  void (*work)(Bench&);
};

const std::vector<Part>& parts() {
  static const std::vector<Part> kParts = {
      {"copies", "Copies with the library's defaults, compared with cuMemcpy", 0.8, copies_with_defaults},
      {"reuse", "Blocks that are handed out again", 0.1, reuse},
      {"reset", "After a reset of the device", 0.05, reset},
      {"fork", "In a forked process", 0.05, fork_of_a_user}};
  return kParts;
}

// Ways to end a process with objects alive.
const char* const kEnds[] = {"exit_main", "exit_static", "exit_thread", "exit_quick"};

std::vector<std::string> arguments(const Settings& settings, const std::string& part, double seconds) {
  std::vector<std::string> result = {"--only",   "bytes",           "--part",   part,
                                     "--library", settings.library,  "--driver", settings.driver,
                                     "--device",  std::to_string(settings.device), "--runtime", "none"};
  if (settings.simulated) result.push_back("--simulated");
  if (settings.largest) result.insert(result.end(), {"--largest", std::to_string(settings.largest)});
  if (!settings.json.empty()) result.insert(result.end(), {"--json", settings.json});
  if (seconds > 0) result.insert(result.end(), {"--seconds", std::to_string(seconds)});
  return result;
}

// From a part's last line.
bool counted(const std::string& text, const std::string& part) {
  unsigned passed = 0, failed = 0, skipped = 0;
  const std::size_t at = text.rfind(part + ": ");
  if (at == std::string::npos) return false;
  const char* const counts = text.c_str() + at + part.size() + 2;
  if (std::sscanf(counts, "%u passed, %u failed, %u skipped", &passed, &failed, &skipped) != 3) return false;
  report::add(passed, failed, skipped);
  return true;
}

bool run(const Settings& settings, const Part& part, double seconds) {
  std::printf("\n### %s\n", part.title);
  // A part that hangs is killed.
  const double limit = std::max(settings.simulated ? 60.0 : 20.0, 1.5 * seconds + 10);
  const Ended ended = run_child(arguments(settings, part.name, seconds), limit, false);
  const bool has_counts = counted(ended.text, part.name);
  if (!has_counts && !ended.text.empty()) std::printf("%s\n", ended.text.c_str());
  const bool passed_or_failed = ended.well() || (!ended.timed_out && ended.status == 1 << 8);
  const bool skipped = !ended.timed_out && ended.status == 77 << 8;
  if (skipped && has_counts) return false;
  if (!has_counts || !passed_or_failed) report::failed(part.name, ended.how(limit));
  return true;
}

void run_ends(const Settings& settings, const Watch& watch, double seconds) {
  std::puts("\n### Ends of a process with objects alive\n\nStatus 0 and no output are right.\n");
  for (const char* const end : kEnds) {
    if (watch.nanoseconds() > seconds * 1e9) {
      report::skipped(end, "the time was up");
      continue;
    }
    const double limit = 30;
    const Ended ended = run_child(arguments(settings, end, 0), limit, true);
    const bool right = ended.well() && ended.text.empty();
    std::printf("- %s: %s\n", end, ended.how(limit).c_str());
    if (right) report::passed();
    else report::failed(end, ended.how(limit) + (ended.text.empty() ? "" : ", and it printed: " + ended.text));
  }
}

}  // namespace

void bytes(const Settings& settings) {
  const Watch watch;
  const double usual = settings.simulated ? 20 : 50, seconds = settings.seconds > 0 ? settings.seconds : usual;
  bool first = true;
  for (const Part& part : parts()) {
    if (!run(settings, part, part.share * seconds) && first) return;
    if (first) run_ends(settings, watch, 2 * seconds);
    first = false;
  }
}

void run_part(Bench& bench, const std::string& name) {
  for (const Part& part : parts()) {
    if (name == part.name) return part.work(bench);
  }
  for (const char* const end : kEnds) {
    if (name == end) leave(bench, name);
  }
  die("there is no part " + name);
}
