// A folder of one's own below the machine's folder for temporary files, gone with this object.
#pragma once
#include <filesystem>

namespace coda::author {

class ScratchFolder {
 public:
  ScratchFolder();  // throws coda::Error where none can be made
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace coda::author
