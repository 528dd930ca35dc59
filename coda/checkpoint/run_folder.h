// A run's checkpoints: folders step-00000123 in the run's folder, each of them complete.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace coda::checkpoint {

struct SavedStep {
  int64_t step = 0;
  std::string path;
};

std::vector<SavedStep> saved_steps(const std::string& run_folder);  // oldest first

// The newest; none where the folder is missing or has none.
std::optional<SavedStep> latest_checkpoint(const std::string& run_folder);

// Throws for a file that has the name of a checkpoint, which could not be saved.
void expect_steps_are_folders(const std::string& run_folder);

// Makes the run's folder where it is missing, removes what killed runs left unfinished, saves (see
// write_folder_atomically) and then drops all but the newest `keep_last` checkpoints. One process
// at a time (RunLock).
SavedStep save_checkpoint(const std::string& run_folder, int64_t step, int64_t keep_last,
                          const std::function<void(const std::string& folder)>& write);

}  // namespace coda::checkpoint
