// One process at a time in a run's folder.
#pragma once
#include <string>

namespace coda::checkpoint {

// Held as long as the object lives, or until the process ends, however it ends.
class RunLock {
 public:
  // Throws coda::Error where another one is held on this folder, which must be there. On file
  // systems without locks nothing is held.
  explicit RunLock(const std::string& run_folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int folder_;
};

}  // namespace coda::checkpoint
