// Runs other programs and keeps their output.
#ifndef SUPPORT_RUN_HPP
#define SUPPORT_RUN_HPP

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ostream>
#include <sstream>
#include <string>

struct Outcome {
  /// The exit status, or 128 + the signal.
  int status = -1;
  std::string output;
  std::string errors;
};

inline std::ostream& operator<<(std::ostream& out, const Outcome& run) {
  return out << "status " << run.status << "\n" << run.output << run.errors;
}

inline std::string all_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  return text;
}

/// Each string of `environment` is NAME=VALUE.
inline Outcome run(const std::string& command, const std::string& environment = "") {
  Outcome result;
  std::FILE* output = std::tmpfile();
  std::FILE* errors = std::tmpfile();
  if (!output || !errors) return result;
  const std::string line = "exec env " + environment + " " + command;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // Ends a program that hangs.
    alarm(300);
    dup2(fileno(output), STDOUT_FILENO);
    dup2(fileno(errors), STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child) {
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  result.output = all_of(output);
  result.errors = all_of(errors);
  std::fclose(output);
  std::fclose(errors);
  return result;
}

#endif  // SUPPORT_RUN_HPP
