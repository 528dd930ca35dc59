// Files and folders that are there as a whole or not at all: written under a temporary name beside
// the target, synced to the disk, then renamed. After an error, or when the process is killed, what
// was there before is as it was.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace coda::checkpoint {

// One file, written from start to end and synced. Throws coda::Error with the path and the system's
// reason, as on a full disk.
class FileOutput {
 public:
  explicit FileOutput(const std::string& path);  // made, or emptied
  ~FileOutput();
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), static_cast<int64_t>(text.size())); }
  void finish();  // syncs and closes; without it the file counts as unfinished

 private:
  std::string path_;
  int file_;
};

// Names that begin so are temporary, in every folder.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

void write_file_atomically(const std::string& path, std::string_view text);

// `write` fills the folder it is given, every file through a FileOutput; then the folder becomes
// `path`, in place of the one that may be there. On the few file systems that cannot exchange two
// names, that one is under a temporary name for a moment.
void write_folder_atomically(const std::string& path,
                             const std::function<void(const std::string& folder)>& write);

// Removes a folder so that nobody sees half of it under its name.
void remove_folder_atomically(const std::string& path);

}  // namespace coda::checkpoint
