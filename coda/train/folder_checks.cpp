#include "coda/train/folder_checks.h"

#include <fmt/format.h>

#include <filesystem>

#include "coda/checkpoint/run_folder.h"
#include "coda/core/error.h"
#include "coda/terminal/shell_word.h"
#include "coda/train/run_state.h"

namespace coda::train {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw Error(fmt::format("cannot make the run's folder '{}': {}", path, error.message()));
}

std::string resume_command(const std::string& run_folder) {
  return "coda train --resume " + terminal::shell_word(run_folder);
}

void expect_no_checkpoint(const std::string& run_folder) {
  checkpoint::expect_steps_are_folders(run_folder);
  const auto latest = checkpoint::latest_checkpoint(run_folder);
  if (!latest) return;
  throw Error(
      fmt::format("{}: expected a folder without checkpoints, got one at step {}; go on with "
                  "`{}`, or choose another --out",
                  run_folder, latest->step, resume_command(run_folder)));
}

void expect_no_checkpoint_itself(const std::string& run_folder) {
  if (!has_run_state(run_folder)) return;
  throw Error(
      fmt::format("'{}': expected the folder of a run, got a checkpoint of it; go on with `{}`",
                  run_folder, resume_command(fs::canonical(run_folder).parent_path().string())));
}

void expect_own_plot(const std::string& run_folder) {
  std::error_code ignored;
  if (!fs::exists(run_folder + "/loss.svg", ignored) ||
      fs::exists(run_folder + "/metrics.jsonl", ignored)) {
    return;
  }
  throw Error(
      fmt::format("'{}/loss.svg': expected none, as there is no metrics.jsonl beside it that it "
                  "could belong to; move it away, or choose another --out",
                  run_folder));
}

void expect_latest_checkpoint(const std::string& run_folder, int64_t step) {
  if (step < 0) return expect_no_checkpoint(run_folder);
  checkpoint::expect_steps_are_folders(run_folder);
  const auto latest = checkpoint::latest_checkpoint(run_folder);
  if (latest && latest->step == step) return;
  throw Error(
      fmt::format("{}: expected the checkpoint at step {}, with which this process began, "
                  "got {}: another one has changed the run; begin again with `{}`",
                  run_folder, step, latest ? fmt::format("one at step {}", latest->step) : "none",
                  resume_command(run_folder)));
}

void expect_other_folder(const std::string& run_folder, const std::vector<std::string>& data) {
  for (const std::string& path : data) {
    std::error_code ignored;  // a path that is not there is reported by the corpus
    if (!fs::equivalent(path, run_folder, ignored)) continue;
    throw Error(fmt::format("out: expected another folder than that of the data, got '{}'", path));
  }
}

}  // namespace coda::train
