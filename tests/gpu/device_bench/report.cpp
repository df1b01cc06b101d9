#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

std::mutex g_mutex;
std::string g_name = "device-bench", g_json;
unsigned g_passed = 0, g_failed = 0, g_skipped = 0, g_printed = 0;
const unsigned kMostPrinted = 40;

// Flushed: a crash or a time limit must not take earlier lines.
void line(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void write_json(const std::string& members) {
  if (g_json.empty()) return;
  std::FILE* file = std::fopen(g_json.c_str(), "a");
  if (file == nullptr) return;
  std::fprintf(file, "{\"section\": %s, %s}\n", report::quoted(g_name).c_str(), members.c_str());
  std::fclose(file);
}

std::string counts() {
  return std::to_string(g_passed) + " passed, " + std::to_string(g_failed) + " failed, " + std::to_string(g_skipped) +
         " skipped";
}

}  // namespace

namespace report {

void begin(const std::string& name, const std::string& json) {
  g_name = name;
  g_json = json;
  g_passed = g_failed = g_skipped = g_printed = 0;
}

void passed(unsigned count) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  g_passed += count;
}

void failed(const std::string& what, const std::string& detail, unsigned count) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  g_failed += count;
  if (++g_printed > kMostPrinted) return;
  line("not ok: " + what + ": " + detail);
  write_json("\"not_ok\": " + quoted(what) + ", \"detail\": " + quoted(detail));
}

void skipped(const std::string& what, const std::string& reason, unsigned count) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  g_skipped += count;
  line("\nskipped: " + what + ": " + reason + (count == 1 ? "" : " (" + std::to_string(count) + ")"));
  write_json("\"skipped\": " + quoted(what) + ", \"reason\": " + quoted(reason) + ", \"count\": " + std::to_string(count));
}

void add(unsigned passed, unsigned failed, unsigned skipped) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  g_passed += passed;
  g_failed += failed;
  g_skipped += skipped;
}

void record(const std::string& members) {
  const std::lock_guard<std::mutex> guard(g_mutex);
  write_json(members);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return result + '"';
}

int end() {
  const std::lock_guard<std::mutex> guard(g_mutex);
  if (g_printed > kMostPrinted) line(std::to_string(g_printed - kMostPrinted) + " more that are not ok are not printed.");
  write_json("\"passed\": " + std::to_string(g_passed) + ", \"failed\": " + std::to_string(g_failed) +
             ", \"skipped\": " + std::to_string(g_skipped));
  line("\n" + g_name + ": " + counts());
  return g_failed ? 1 : g_passed ? 0 : 77;
}

void give_up(const std::string& sentence) {
  failed(g_name, sentence);
  // Not exit(): other threads may be at work, and static destructors would meet them.
  std::_Exit(end());
}

}  // namespace report
