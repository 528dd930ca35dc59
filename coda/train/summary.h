// What a run says when it ends: what it learned, how fast, where the time and the memory went, and
// where its files are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coda::train {

struct OperationTime {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
};

struct RunSummary {
  std::string model;   // "tiny, 4 layers, 0.9 M parameters"
  std::string device;  // "cpu (avx512, 2 threads)"
  int64_t steps = 0;   // of this process; a resumed run has done more
  int64_t last_step = 0;
  int64_t tokens = 0;  // of these steps
  double seconds = 0;  // of these steps, without evaluation and saving
  // Mean loss in nats on held-out text, before the first step (of the whole run) and now.
  std::optional<double> held_out_before, held_out_after;
  int64_t held_out_tokens = 0;
  std::vector<OperationTime> operations;  // in any order
  // In which they ran, with what is "other"; of a GPU one step, with waits between its operations.
  double profiled_seconds = 0;
  int64_t planned_bytes = 0, seen_bytes = 0;
  // Files and folders; one that is empty is not named. plot: or why it was not written.
  std::string checkpoint, metrics, plot;
  std::string resume_command;  // empty: the run is complete
};

// Lines, each with its newline.
std::string summary_text(const RunSummary& summary);

std::string bytes_text(int64_t bytes);  // "1.50 GiB", "12 bytes"
std::string count_text(double count);   // "12.3 k", "1.24 M"; below 1000 as it is

}  // namespace coda::train
