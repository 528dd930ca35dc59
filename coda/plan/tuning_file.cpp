#include "coda/plan/tuning_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "coda/core/error.h"

namespace coda::plan {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(fmt::format("tuning cache '{}': {}", path, why));
}

std::string error_text() { return std::strerror(errno); }

// Held until it goes out of scope, also against other threads: each opens the file anew.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail(path, fmt::format("cannot write '{}.lock': {}", path, error_text()));
    while (flock(file_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const std::string why = error_text();
      close(file_);
      fail(path, fmt::format("cannot lock '{}.lock': {}", path, why));
    }
  }
  ~FileLock() { close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

}  // namespace

TuningCache read_tuning(const std::string& path) { return TuningCache::parse(read_text(path)); }

void merge_tuning(const std::string& path, const TuningCache& cache) {
  const FileLock lock(path);
  const std::string before = read_text(path);
  if (!before.empty() && !TuningCache::has_format(before)) {
    fail(path,
         "it is there, and no tuning cache of this version (remove it, or name another file)");
  }
  TuningCache merged = TuningCache::parse(before);
  merged.merge(cache);
  const std::string temporary = path + ".tmp";  // of whoever holds the lock
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << merged.text();
    file.close();
    if (!file) {
      const std::string why = error_text();
      std::remove(temporary.c_str());
      fail(path, fmt::format("cannot write '{}': {}", temporary, why));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = error_text();
    std::remove(temporary.c_str());
    fail(path, fmt::format("cannot replace it: {}", why));
  }
}

}  // namespace coda::plan
