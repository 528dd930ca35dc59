// A file's bytes, mapped into memory for reading.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace coda::train {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // Error: unreadable or empty
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace coda::train
