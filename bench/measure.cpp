// Runs the same work on libraries in turn, and prints every sample for report.py:
//   about<TAB>name<TAB>value
//   row<TAB>id<TAB>unit<TAB>rival<TAB>description<TAB>rival's samples<TAB>library's samples
// usage: measure ORIGINAL LIBRARY [--quick] [--only PREFIX[,PREFIX…]] [--rivals PATH[,PATH…]]
// It starts itself again with --cpus and --child behind that.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench.hpp"
#include "child.hpp"
#include "library.hpp"
#include "rivals.hpp"
#include "rows.hpp"
#include "threads.hpp"
#include "work.hpp"

namespace {

struct Options {
  std::vector<std::string> paths;  // of the original and of the library
  std::string rivals;
  std::vector<std::string> child;  // the words of child.hpp
  Settings settings;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") {
      options.settings.quick = true;
    } else if (word == "--only" && i + 1 < argc) {
      options.settings.only = split(argv[++i]);
    } else if (word == "--rivals" && i + 1 < argc) {
      options.rivals = argv[++i];
    } else if (word == "--cpus" && i + 1 < argc) {
      for (const std::string& cpu : split(argv[++i])) options.settings.cpus.push_back(std::stoi(cpu));
    } else if (word == "--child") {
      options.child.assign(argv + i + 1, argv + argc);
      break;
    } else {
      options.paths.push_back(word);
    }
  }
  if (options.paths.size() != 2) {
    std::fprintf(stderr, "usage: measure ORIGINAL LIBRARY [--quick] [--only PREFIX[,...]] [--rivals PATH[,...]]\n");
    std::exit(2);
  }
  // A process that this one starts is bound to one processor, and cannot ask for the others.
  if (options.settings.cpus.empty()) options.settings.cpus = allowed_cpus();
  return options;
}

std::vector<std::string> command_of(const Options& options) {
  std::string cpus;
  for (const int cpu : options.settings.cpus) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
  return {"measure", options.paths[0], options.paths[1], "--rivals", options.rivals, "--cpus", cpus};
}

double free_memory() {
  return static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// A 1 GiB object is written in full: without this much free, the kernel would kill the run.
void require_memory() {
  const double free = free_memory();
  if (free > 1.5 * static_cast<double>(kGiB)) return;
  std::fprintf(stderr, "bench: %.0f MiB of memory are free and 1536 MiB are needed\n", free / kMiB);
  std::exit(2);
}

void print_about(const Library& original, const Library& library, const Settings& settings, bool pinned) {
  std::printf("about\toriginal\t%s\nabout\tlibrary\t%s\n", original.path.c_str(), library.path.c_str());
  std::printf("about\toriginal_inner_calls\t%d\nabout\tlibrary_inner_calls\t%d\n", original.inner_calls,
              library.inner_calls);
  std::printf("about\tprocessors\t%zu\n", settings.cpus.size());
  std::printf("about\tpinned_to\t%s\n", pinned ? std::to_string(settings.cpus.back()).c_str() : "none");
  double empty[5];
  for (double& sample : empty) sample = empty_call(1000000);
  std::printf("about\tempty_call_ns\t%.3f\n", empty[4]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  options.settings.command = command_of(options);
  const Settings& settings = options.settings;
  if (options.child.empty()) require_memory();
  signal(SIGPIPE, SIG_IGN);  // a process of ours that ended is seen where it is asked
  // The last one: the first usually serves the interrupts.
  const bool pinned = pin(settings.cpus.back());
  // Caffe prefetches on threads of its own, and the C library's allocator is quicker in a process
  // that has none: one idle thread makes every figure that of a process with threads.
  std::thread([] { pause(); }).detach();

  std::vector<Library> libraries = rivals(split(options.rivals));
  const std::size_t others = libraries.size();
  libraries.push_back(load("original", options.paths[0]));
  libraries.push_back(load("library", options.paths[1]));
  if (!options.child.empty()) return child_main(libraries, options.child, settings.cpus);
  const Library &original = libraries[others], &library = libraries[others + 1];
  print_about(original, library, settings, pinned);

  Bench bench(original, library, settings);
  call_rows(bench);
  cached_rows(bench);
  touch_rows(bench);
  small_rows(bench);
  random_rows(bench);
  passing_rows(bench);
  thread_rows(bench);
  scaling_rows(bench);
  math_rows(library, settings);
  for (std::size_t i = 0; i < others; ++i) {
    Bench against(libraries[i], library, settings);
    cached_rows(against);
    small_rows(against);
    net_rows(against, false);
  }
  // An image's memory, and as much again that the library may hold idle.
  const bool room = free_memory() > 11 * static_cast<double>(kGiB);
  if (!room) std::fprintf(stderr, "    less than 11 GiB of memory are free: no Faster R-CNN\n");
  net_rows(bench, room);
  reader_rows(bench);
  return 0;
}
