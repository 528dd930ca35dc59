// A folder of one's own below the machine's folder for temporary files, gone with this object, or,
// where the process was ended, with the next such object of the user.
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
  int lock_;  // held as long as the folder is in use
};

}  // namespace coda::author
