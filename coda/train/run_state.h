// Where a run stands, beside the weights of its checkpoints.
#pragma once
#include <optional>

#include "coda/train/run_options.h"

namespace coda::train {

struct RunState {
  int64_t step = 0;            // how many are done
  double held_out_before = 0;  // the loss before the first of them
  uint64_t data = 0;           // the corpus's fingerprint
  RunOptions options;
};

bool has_run_state(const std::string& checkpoint);  // as the checkpoints of runs have
// Throws coda::Error where it is missing, damaged, or that of no run.
RunState read_run_state(const std::string& checkpoint);
// Of any model's folder: none where there is none, or somebody else's file of that name.
std::optional<RunState> find_run_state(const std::string& folder);
void write_run_state(const std::string& checkpoint, const RunState& state);

}  // namespace coda::train
