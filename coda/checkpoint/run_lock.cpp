#include "coda/checkpoint/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "coda/core/error.h"

namespace coda::checkpoint {

RunLock::RunLock(const std::string& run_folder)
    : folder_(open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) {
    throw Error(
        fmt::format("cannot open the run's folder '{}': {}", run_folder, std::strerror(errno)));
  }
  if (flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(folder_);
  throw Error(fmt::format(
      "'{}': expected no other process that trains in this folder, got one; wait for its end, or "
      "choose another --out",
      run_folder));
}

RunLock::~RunLock() { close(folder_); }

}  // namespace coda::checkpoint
