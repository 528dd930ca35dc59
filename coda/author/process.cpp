#include "coda/author/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "coda/core/error.h"

namespace coda::author {
namespace {

// The environment, but for messages in English.
std::vector<char*> environment() {
  static char kLanguage[] = "LC_ALL=C";
  std::vector<char*> result{kLanguage};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string(*variable).starts_with("LC_ALL=")) result.push_back(*variable);
  }
  result.push_back(nullptr);
  return result;
}

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(file, buffer, sizeof(buffer))) != 0;) {
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  return text;
}

ProcessResult run(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(),
                                 variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ProcessResult result;
  if (failed == 0) result.output = read_all(ends[0]);
  close(ends[0]);
  if (failed != 0) throw Error(fmt::format("{}: {}", command[0], std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace

std::vector<ProcessResult> run_all(std::span<const std::vector<std::string>> commands) {
  std::vector<ProcessResult> results(commands.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    for (size_t i = next++; i < commands.size(); i = next++) {
      try {
        results[i] = run(commands[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        thrown = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    for (size_t i = 1; i < std::min(cores, commands.size()); ++i) others.emplace_back(work);
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
  return results;
}

}  // namespace coda::author
