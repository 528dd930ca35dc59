#include "coda/checkpoint/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "coda/checkpoint/atomic.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = std::string_view(name).substr(kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool number = error == std::errc() && end == digits.data() + digits.size();
  if (!number || digits.starts_with('-')) return std::nullopt;
  return step;
}

// Whether writing a file of a run, or replacing a checkpoint, may leave something under this name;
// others are not ours to remove.
bool is_leftover(std::string name) {
  const size_t length = name.size();
  while (name.starts_with(kTemporaryPrefix)) name.erase(0, kTemporaryPrefix.size());
  return name.size() < length && (step_of(name) || name == "metrics.jsonl" || name == "loss.svg");
}

void remove_leftovers(const fs::path& run_folder) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(run_folder)) {
    if (is_leftover(entry.path().filename().string())) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove_all(path);
}

// f(step, entry) for all that have the name of a checkpoint.
template <class F>
void for_each_step(const std::string& run_folder, F&& f) {
  try {
    for (const auto& entry : fs::directory_iterator(run_folder)) {
      if (const auto step = step_of(entry.path().filename().string())) f(*step, entry);
    }
  } catch (const fs::filesystem_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return;
    throw Error(
        fmt::format("cannot read the run's folder '{}': {}", run_folder, error.code().message()));
  }
}

}  // namespace

std::vector<SavedStep> saved_steps(const std::string& run_folder) {
  std::vector<SavedStep> steps;
  for_each_step(run_folder, [&](int64_t step, const fs::directory_entry& entry) {
    if (entry.is_directory()) steps.push_back({step, entry.path().string()});
  });
  std::ranges::sort(steps, {}, [](const SavedStep& saved) { return saved.step; });
  return steps;
}

void expect_steps_are_folders(const std::string& run_folder) {
  for_each_step(run_folder, [](int64_t, const fs::directory_entry& entry) {
    if (entry.is_directory()) return;
    throw Error(
        fmt::format("'{}': expected a checkpoint, as its name says, got no folder; move it away",
                    entry.path().string()));
  });
}

std::optional<SavedStep> latest_checkpoint(const std::string& run_folder) {
  const std::vector<SavedStep> steps = saved_steps(run_folder);
  if (steps.empty()) return std::nullopt;
  return steps.back();
}

SavedStep save_checkpoint(const std::string& run_folder, int64_t step, int64_t keep_last,
                          const std::function<void(const std::string& folder)>& write) {
  if (step < 0) fail_argument("save_checkpoint", "step", "0 or more", std::to_string(step));
  if (keep_last < 1) {
    fail_argument("save_checkpoint", "keep_last", "1 or more", std::to_string(keep_last));
  }
  const SavedStep saved{step,
                        (fs::path(run_folder) / fmt::format("{}{:08}", kPrefix, step)).string()};
  try {
    fs::create_directories(run_folder);
    remove_leftovers(run_folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(
        fmt::format("cannot save a checkpoint in '{}': {}", run_folder, error.code().message()));
  }
  write_folder_atomically(saved.path, write);
  const std::vector<SavedStep> steps = saved_steps(run_folder);
  const auto count = static_cast<int64_t>(steps.size());
  for (int64_t i = 0; i < count - keep_last; ++i) {
    const SavedStep& old = steps[static_cast<size_t>(i)];
    if (old.step != step) remove_folder_atomically(old.path);
  }
  return saved;
}

}  // namespace coda::checkpoint
