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

  // Throws Error where the file has been cut short: reading beyond its end would end the process.
  std::string_view bytes() const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace coda::train
