#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "task.hpp"
#include "work.hpp"

namespace {

const long kCycles = 1000;

// A figure in kB of /proc/self/status, in bytes.
double status(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "re");
  char line[256];
  double bytes = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0) bytes = std::strtod(line + std::strlen(name), nullptr) * 1024;
  }
  if (file != nullptr) std::fclose(file);
  return bytes;
}

// Sets the peak back to what is resident now, where the kernel can do that: else it holds that of loading.
void forget_peak() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "5", 1) < 0) std::fprintf(stderr, "bench: the peak of resident memory cannot be set back\n");
  close(file);
}

// Words: a history and the task.
int run_task(const Library& library, const std::vector<std::string>& words, const std::vector<int>& cpus) {
  if (words.at(0) == "settled") settle();
  const auto task = task_of(library, std::vector<std::string>(words.begin() + 1, words.end()), cpus);
  forget_peak();
  const double before = status("VmRSS:");
  double faults = 0, samples = 0;
  for (char what; read(STDIN_FILENO, &what, 1) == 1;) {
    double answer = 0;
    if (what == 's') {
      const double faults_before = page_faults();
      answer = task();
      faults += page_faults() - faults_before;
      ++samples;
    } else {
      answer = what == 'p' ? status("VmHWM:") - before : faults / samples;
    }
    if (write(STDOUT_FILENO, &answer, sizeof answer) != sizeof answer) return 1;
  }
  return 0;
}

void stop() { syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP); }

// Stops three times: between the first two nothing is done, between the last two the work.
int run_traced(const Library& library, std::size_t bytes) {
  acquire_release(library, bytes, kCycles);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 1;
  stop();
  stop();
  acquire_release(library, bytes, kCycles);
  stop();
  return 0;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench: the process for %s failed\n", what.c_str());
  std::exit(2);
}

// Starts this program again with its words behind --child, at the other ends of two pipes.
pid_t start(std::vector<std::string> command, const std::vector<std::string>& words, int* to, int* from) {
  command.push_back("--child");
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);

  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) fail(words[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  pid_t child = -1;
  if (posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) != 0) fail(words[0]);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  *to = in[1];
  *from = out[0];
  return child;
}

// Lets the stopped child run until it stops itself again; system calls meanwhile, or -1 if it ended.
long calls_until_stop(pid_t child) {
  long stops = 0;
  int state = 0;
  do {
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 || waitpid(child, &state, 0) != child) return -1;
    if (!WIFSTOPPED(state)) return -1;
    if (WSTOPSIG(state) == (SIGTRAP | 0x80)) ++stops;
  } while (WSTOPSIG(state) != SIGSTOP);
  return stops / 2;  // at its entry and at its exit
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command, const Library& library, const std::string& history,
               const std::vector<std::string>& task)
    : title_(library.name + ": " + task.at(0)) {
  std::vector<std::string> words = {"task", library.name, history};
  words.insert(words.end(), task.begin(), task.end());
  child_ = start(command, words, &to_, &from_);
}

Worker::~Worker() {
  close(to_);  // where it reads the end, and ends
  close(from_);
  waitpid(child_, nullptr, 0);
}

double Worker::ask(char what) {
  double answer = 0;
  if (write(to_, &what, 1) != 1 || read(from_, &answer, sizeof answer) != sizeof answer) fail(title_);
  return answer;
}

double Worker::sample() { return ask('s'); }
double Worker::peak() { return ask('p'); }
double Worker::faults() { return ask('f'); }

std::vector<double> calls_of_cycle(const std::vector<std::string>& command, const Library& library,
                                   std::size_t bytes) {
  int to = -1, from = -1, state = 0;
  const pid_t child = start(command, {"calls", library.name, std::to_string(bytes)}, &to, &from);
  close(to);
  close(from);
  if (waitpid(child, &state, 0) != child) fail("system calls");
  if (!WIFSTOPPED(state)) return {};  // it may not be traced
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);
  const long none = calls_until_stop(child);
  const long work = calls_until_stop(child);
  kill(child, SIGKILL);
  waitpid(child, &state, 0);
  if (none < 0 || work < 0) fail("system calls");
  return {static_cast<double>(work - none) / kCycles};
}

int child_main(const std::vector<Library>& libraries, const std::vector<std::string>& words,
               const std::vector<int>& cpus) {
  for (const Library& library : libraries) {
    if (library.name != words.at(1)) continue;
    if (words.at(0) == "calls") return run_traced(library, std::stoul(words.at(2)));
    return run_task(library, std::vector<std::string>(words.begin() + 2, words.end()), cpus);
  }
  return 2;
}
