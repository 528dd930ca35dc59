#include "coda/checkpoint/atomic.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw Error(fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

fs::path temporary_for(const fs::path& path) {
  return path.parent_path() / (std::string(kTemporaryPrefix) + path.filename().string());
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// "runs/a/" is "runs/a": the name to be made comes last.
fs::path without_last_slash(const std::string& path) {
  const fs::path given(path);
  const fs::path named = given.has_filename() ? given : given.parent_path();
  if (!named.has_filename() || named.filename() == "." || named.filename() == "..") {
    throw Error(fmt::format("cannot write '{}': expected a path that ends in a name", path));
  }
  return named;
}

// So that the names in the folder outlive a power failure.
void sync_folder(const fs::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail("open", folder.string());
  const bool synced = fsync(file) == 0 || errno == EINVAL;  // some file systems have no such thing
  const int reason = errno;
  close(file);
  errno = reason;
  if (!synced) fail("sync", folder.string());
}

// The folder `from` becomes `to`; what was there lies at `from` afterwards.
void exchange_folders(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail("replace", to.string());
  // The file system cannot exchange two names: for a moment `to` is under a temporary name.
  const fs::path aside = temporary_for(from);
  if (std::rename(to.c_str(), aside.c_str()) != 0) fail("replace", to.string());
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int reason = errno;
    if (std::rename(aside.c_str(), to.c_str()) != 0) fail("put back", to.string());
    errno = reason;
    fail("replace", to.string());
  }
  if (std::rename(aside.c_str(), from.c_str()) != 0) fail("move aside", aside.string());
}

// Removes what is under the name, now and at the end: leftovers, what failed, what was replaced.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) { remove(); }
  ~Temporary() { remove(); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const fs::path& path() const { return path_; }

 private:
  void remove() const noexcept {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path_;
};

[[noreturn]] void fail_unwritten(const fs::path& path, const char* reason) {
  throw Error(fmt::format("'{}' was not written, and what was there before is as it was: {}",
                          path.string(), reason));
}

}  // namespace

FileOutput::FileOutput(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail("write", path_);
}

FileOutput::~FileOutput() {
  if (file_ >= 0) close(file_);
}

void FileOutput::write(const void* data, int64_t bytes) {
  constexpr int64_t kLargest = int64_t{1} << 30;  // the system writes no 2 GiB at once
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, next, static_cast<size_t>(std::min(bytes, kLargest)));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;  // no file takes nothing
    if (written <= 0) fail("write", path_);
    next += written;
    bytes -= written;
  }
}

void FileOutput::finish() {
  if (fsync(file_) != 0) fail("sync", path_);
  const int file = file_;
  file_ = -1;
  if (close(file) != 0) fail("close", path_);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const fs::path target = without_last_slash(path);
  try {
    const Temporary temporary(temporary_for(target));
    FileOutput output(temporary.path().string());
    output.write(text);
    output.finish();
    if (std::rename(temporary.path().c_str(), target.c_str()) != 0) fail("replace", path);
  } catch (const std::exception& error) {
    fail_unwritten(target, error.what());
  }
  sync_folder(folder_of(target));
}

void write_folder_atomically(const std::string& path,
                             const std::function<void(const std::string& folder)>& write) {
  const fs::path target = without_last_slash(path);
  try {
    const Temporary temporary(temporary_for(target));
    if (mkdir(temporary.path().c_str(), 0777) != 0) fail("make", temporary.path().string());
    write(temporary.path().string());
    sync_folder(temporary.path());
    if (fs::is_directory(target)) {
      exchange_folders(temporary.path(), target);
    } else if (std::rename(temporary.path().c_str(), target.c_str()) != 0) {
      fail("make", target.string());
    }
  } catch (const std::exception& error) {
    fail_unwritten(target, error.what());
  }
  sync_folder(folder_of(target));
}

void remove_folder_atomically(const std::string& path) {
  const fs::path target = without_last_slash(path);
  const Temporary temporary(temporary_for(target));
  if (std::rename(target.c_str(), temporary.path().c_str()) != 0) fail("remove", path);
}

}  // namespace coda::checkpoint
