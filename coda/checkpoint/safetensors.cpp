#include "coda/checkpoint/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "coda/checkpoint/tensor_type.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the limit of `safetensors`

uint64_t read_length(const char* from) {  // little-endian
  uint64_t length = 0;
  for (int64_t i = kLengthBytes - 1; i >= 0; --i) {
    length = length << 8 | static_cast<unsigned char>(from[i]);
  }
  return length;
}

// What else lies about under such names.
std::string guess_format(std::string_view start) {
  if (start.starts_with("version https://git-lfs")) {
    return " (a Git LFS pointer: fetch the file itself with `git lfs pull`)";
  }
  if (start.starts_with("PK\x03\x04")) {
    return " (a PyTorch file: save the model again with `safe_serialization=True`)";
  }
  if (start.starts_with("GGUF")) return " (a GGUF file)";
  return "";
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) fail(fmt::format("cannot read it: {}", strerror(errno)));
  if (!S_ISREG(status.st_mode)) fail("cannot read it: not a regular file");
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(fmt::format("cannot read it: {}", strerror(errno)));
  size_ = lseek(file, 0, SEEK_END);
  void* mapping = size_ < kLengthBytes
                      ? nullptr
                      : mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_PRIVATE, file, 0);
  const int reason = errno;
  close(file);
  if (mapping == nullptr) fail(fmt::format("not a safetensors file: {} bytes", size_));
  if (mapping == MAP_FAILED) fail(fmt::format("cannot map it: {}", strerror(reason)));
  mapping_ = static_cast<const char*>(mapping);
  try {
    read();
  } catch (...) {
    munmap(mapping, static_cast<size_t>(size_));
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping_ != nullptr) munmap(const_cast<char*>(mapping_), static_cast<size_t>(size_));
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      size_(other.size_),
      data_(other.data_),
      header_(std::move(other.header_)) {}

void SafetensorsFile::fail(const std::string& reason) const {
  throw Error(fmt::format("safetensors file '{}': {}", path_, reason));
}

int64_t SafetensorsFile::header_bytes() const {
  const uint64_t length = read_length(mapping_);
  const std::string_view start(mapping_, static_cast<size_t>(std::min<int64_t>(size_, 64)));
  if (length < 2 || length > kMaxHeaderBytes) {
    fail(fmt::format("not a safetensors file{}: it begins with a header length of {} bytes",
                     guess_format(start), length));
  }
  if (size_ > kLengthBytes && mapping_[kLengthBytes] != '{') {
    fail("not a safetensors file: its header does not begin with '{'");
  }
  if (static_cast<int64_t>(length) > size_ - kLengthBytes) {
    fail(fmt::format("truncated: a header of {} bytes in a file of {}", length, size_));
  }
  return static_cast<int64_t>(length);
}

void SafetensorsFile::read() {
  const int64_t length = header_bytes();
  data_ = mapping_ + kLengthBytes + length;
  header_ = parse_safetensors_header({mapping_ + kLengthBytes, static_cast<size_t>(length)},
                                     size_ - kLengthBytes - length,
                                     fmt::format("safetensors file '{}'", path_));
}

std::vector<NamedShape> SafetensorsFile::shapes() const {
  std::vector<NamedShape> shapes;
  for (const auto& [name, entry] : header_.tensors) shapes.push_back({name, entry.shape});
  return shapes;
}

TensorRecord SafetensorsFile::tensor(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) fail(fmt::format("it has no tensor '{}'", name));
  const TensorEntry& entry = found->second;
  const auto dtype = dtype_named(entry.dtype);
  if (!dtype) {
    fail(fmt::format("tensor '{}' is {}; supported are {}", name, entry.dtype, kReadableTypes));
  }
  return {name, *dtype, entry.shape, data_ + entry.begin, entry.end - entry.begin};
}

}  // namespace coda::checkpoint
