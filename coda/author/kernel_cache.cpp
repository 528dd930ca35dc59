#include "coda/author/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "coda/core/sha256.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigits = 64;  // of the hash that an entry begins with

fs::path folder_from(const char* variable, const char* below) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / below;
}

bool write_all(int file, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

KernelCache KernelCache::standard(const std::string& suffix) {
  for (const auto& [variable, below] :
       {std::pair{"CODA_CACHE", ""}, {"XDG_CACHE_HOME", "coda"}, {"HOME", ".cache/coda"}}) {
    if (fs::path folder = folder_from(variable, below); !folder.empty()) {
      return KernelCache(std::move(folder), suffix);
    }
  }
  return KernelCache({}, suffix);
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string entry = stream.str();
  if (!file || entry.size() <= kDigits) return std::nullopt;
  std::string bytes = entry.substr(kDigits);
  if (sha256(key + bytes) != entry.substr(0, kDigits)) return std::nullopt;
  return bytes;
}

void KernelCache::keep(const std::string& key, const std::string& bytes) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  static std::atomic<int> count = 0;
  const fs::path temporary =
      folder_ / fmt::format(".tmp-{}-{}-{}", key.substr(0, 16), getpid(), count++);
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;
  const bool written = write_all(file, sha256(key + bytes) + bytes) && fsync(file) == 0;
  close(file);
  if (written) fs::rename(temporary, file_of(key), error);
  if (!written || error) fs::remove(temporary, error);
}

}  // namespace coda::author
