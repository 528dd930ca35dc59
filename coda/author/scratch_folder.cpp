#include "coda/author/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "coda/core/error.h"

namespace coda::author {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "coda-author-";
constexpr time_t kSeconds = 60;  // by then a folder is locked, or its process is gone

int open_and_lock(const fs::path& folder, bool& locked) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  locked = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0;
  return file;
}

// What processes left that were ended by a signal: the user's folders that nobody holds.
void remove_stale(const fs::path& above) {
  std::error_code error;
  fs::directory_iterator entries(above, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (!entries->path().filename().native().starts_with(kPrefix)) continue;
    bool locked = false;
    const int folder = open_and_lock(entries->path(), locked);
    struct stat status{};
    if (locked && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        status.st_mtime + kSeconds < std::time(nullptr)) {
      std::error_code ignored;
      fs::remove_all(entries->path(), ignored);
    }
    if (folder >= 0) close(folder);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const fs::path above = fs::temp_directory_path();
  remove_stale(above);
  std::string name = (above / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a folder for compiled programs", above.string()));
  }
  path_ = name;
  bool locked = false;  // file systems without locks keep what is left
  lock_ = open_and_lock(path_, locked);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace coda::author
