// metrics.jsonl of a run: one line of JSON per step, and one per measurement of the held-out loss.
// Steps are counted when done: the first is 1, and a held-out loss before it has step 0.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace coda::train {

struct StepMetrics {
  int64_t step = 0;
  float loss = 0;  // NaN and infinities are null in the file, and NaN when read
  float learning_rate = 0;
  float gradient_norm = 0;
  int64_t tokens = 0;  // since the first step
  float seconds = 0;   // of this step
  float tokens_per_second = 0;
  bool operator==(const StepMetrics&) const = default;
};

struct HeldOutMetrics {
  int64_t step = 0;
  float loss = 0;
  bool operator==(const HeldOutMetrics&) const = default;
};

struct Metrics {
  std::vector<StepMetrics> steps;
  std::vector<HeldOutMetrics> held_out;
};

std::string metrics_line(const StepMetrics& metrics);  // with its newline
std::string metrics_line(const HeldOutMetrics& metrics);

// Throws Error, with the number of the line, where the file is not of this kind. A last line
// without its newline, as a killed run leaves one, is left out.
Metrics read_metrics(const std::filesystem::path& path);

class MetricsFile {
 public:
  // For a run that has done `step` steps: lines of later steps, as a run that was killed leaves
  // them, are dropped in one go; before the first step that is every line. Throws Error where the
  // file is not of this kind, and leaves it as it is.
  MetricsFile(std::filesystem::path path, int64_t step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  // Whole lines, at once in the file. Throws Error where they cannot be written.
  void append(const StepMetrics& metrics) { append(metrics_line(metrics)); }
  void append(const HeldOutMetrics& metrics) { append(metrics_line(metrics)); }
  // Before a checkpoint of the last step: lines are on the disk whenever it is.
  void sync();
  // Whether the file that was there had a held-out loss of the run's step.
  bool has_held_out() const { return has_held_out_; }

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  int file_ = -1;
  bool has_held_out_ = false;
};

}  // namespace coda::train
