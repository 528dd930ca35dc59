// Runs other programs: several at a time, without a shell.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace coda::author {

struct ProcessResult {
  int status = 0;      // 0: success; of one that a signal ended, 128 and its number
  std::string output;  // stdout and stderr together
};

// Each command is a program's path and its arguments. As many at a time as there are cores. Throws
// coda::Error where one cannot be started.
std::vector<ProcessResult> run_all(std::span<const std::vector<std::string>> commands);

}  // namespace coda::author
