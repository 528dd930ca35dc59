#include "coda/train/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "coda/core/error.h"

namespace coda::train {

MappedFile::MappedFile(const std::filesystem::path& path)
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  const auto fail = [&](const char* reason) {
    if (file_ >= 0) close(file_);
    throw Error(fmt::format("cannot map '{}': {}", path.string(), reason));
  };
  struct stat status{};
  if (file_ < 0 || fstat(file_, &status) != 0) fail(std::strerror(errno));
  if (status.st_size == 0) fail("it is empty");
  size_ = static_cast<size_t>(status.st_size);
  void* const data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
  if (data == MAP_FAILED) fail(std::strerror(errno));
  data_ = static_cast<const char*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  if (file_ >= 0) close(file_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string_view MappedFile::bytes() const {
  struct stat status{};
  if (fstat(file_, &status) != 0 || static_cast<size_t>(status.st_size) < size_) {
    throw Error(fmt::format("'{}' has been cut short: expected {} bytes, got {}", path_.string(),
                            size_, status.st_size));
  }
  return {data_, size_};
}

}  // namespace coda::train
