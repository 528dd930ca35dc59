#include "coda/author/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>

#include "coda/core/error.h"

namespace coda::author {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "coda-author-";
constexpr time_t kSeconds = 60;  // by then a folder is locked, or its process is gone

int open_folder(const fs::path& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// What processes left that were ended by a signal: the user's folders that nobody holds.
void remove_stale(const fs::path& above) {
  std::error_code error;
  fs::directory_iterator entries(above, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (!entries->path().filename().native().starts_with(kPrefix)) continue;
    const int folder = open_folder(entries->path());
    struct stat status{};
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0 && fstat(folder, &status) == 0 &&
        status.st_uid == geteuid() && status.st_mtime + kSeconds < std::time(nullptr)) {
      std::error_code ignored;
      fs::remove_all(entries->path(), ignored);
    }
    if (folder >= 0) close(folder);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const fs::path above = fs::temp_directory_path(failed);
  if (failed) {
    throw Error(fmt::format("no folder for compiled programs: {}; TMPDIR names one, else /tmp is",
                            failed.message()));
  }
  remove_stale(above);
  std::string name = (above / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a folder for compiled programs", above.string()));
  }
  path_ = name;
  lock_ = open_folder(path_);
  // Waits for one that looks whether it is stale. File systems without locks keep what is left.
  while (lock_ >= 0 && flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace coda::author
