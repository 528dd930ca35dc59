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

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](const char* reason) {
    throw Error(fmt::format("cannot map '{}': {}", path.string(), reason));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno));
  struct stat status{};
  void* data = MAP_FAILED;
  int error = fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && status.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) error = errno;
  }
  close(file);
  if (error != 0) fail(std::strerror(error));
  if (status.st_size == 0) fail("it is empty");
  data_ = static_cast<const char*>(data);
  size_ = static_cast<size_t>(status.st_size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace coda::train
