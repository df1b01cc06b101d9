#include "child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "libraries.hpp"
#include "watch.hpp"

namespace {

[[noreturn]] void become(const std::vector<std::string>& arguments, int output) {
  dup2(output, 1);
  dup2(output, 2);
  std::vector<char*> argv;
  std::string name = "device-bench";
  argv.push_back(&name[0]);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  _exit(126);
}

// All whole lines but the last.
void forward(std::string& text) {
  const std::size_t end = text.rfind('\n');
  const std::size_t before = end == std::string::npos || end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  if (before == std::string::npos) return;
  std::fwrite(text.data(), 1, before + 1, stdout);
  std::fflush(stdout);
  text.erase(0, before + 1);
}

}  // namespace

int wait_for(int process, double seconds) {
  const Watch watch;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (watch.nanoseconds() > seconds * 1e9) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return -1;
    }
    usleep(5000);
  }
  return status;
}

Ended run_child(const std::vector<std::string>& arguments, double limit, bool quiet) {
  const Watch watch;
  int ends[2];
  std::fflush(stdout);
  if (pipe(ends) != 0) die("there is no pipe for another process");
  const int process = fork();
  if (process < 0) die("another process cannot be started");
  if (process == 0) become(arguments, ends[1]);
  close(ends[1]);
  Ended ended = {0, false, ""};
  for (;;) {
    const double left = limit - watch.nanoseconds() / 1e9;
    struct pollfd end = {ends[0], POLLIN, 0};
    if (left <= 0 || poll(&end, 1, static_cast<int>(left * 1000) + 1) <= 0) break;
    char piece[4096];
    const ssize_t count = read(ends[0], piece, sizeof piece);
    if (count <= 0) break;
    ended.text.append(piece, static_cast<std::size_t>(count));
    if (!quiet) forward(ended.text);
  }
  close(ends[0]);
  const double left = limit - watch.nanoseconds() / 1e9;
  ended.status = wait_for(process, left > 0.5 ? left : 0.5);
  ended.timed_out = ended.status == -1;
  return ended;
}

std::string Ended::how(double limit) const {
  if (timed_out) return "no end within " + std::to_string(static_cast<int>(limit)) + " s";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}
