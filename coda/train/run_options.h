// What a training run is asked for, kept in its checkpoints so that a resumed run goes on with the
// same.
#pragma once
#include <string>
#include <vector>

#include "coda/block/model_options.h"

namespace coda::train {

struct RunOptions {
  std::vector<std::string> data;  // texts, folders of them, or one token file
  std::string model = "tiny";     // a preset, or a folder with config.json and, maybe, weights
  int64_t steps = 400;
  int64_t batch = 16;  // sequences per weight update
  int64_t parts = 1;   // in so many parts, one after another
  int64_t sequence = 256;
  double learning_rate = 3e-3;
  int64_t warmup_steps = 20;
  double decay = 0.1, max_norm = 1.0;
  uint64_t seed = 1;
  int64_t evaluate_every = 100;          // steps; 0: at the beginning and the end only
  int64_t held_out_batches = 16;         // at most, of each evaluation
  int64_t save_every = 200;              // 0: at the end only
  int64_t keep = 2;                      // checkpoints
  int64_t read_every = 1;                // steps from one look at the loss to the next
  std::string type = "bf16";             // of weights and activations: bf16, or fp32 on the CPU
  std::string recompute = "activation";  // nothing, activation, block
  std::string fold = "rule";             // rule, kept, folded

  bool operator==(const RunOptions&) const = default;
};

// Throws coda::Error naming the option, what is expected and what came.
void validate(const RunOptions& options);
block::ModelOptions model_options(const RunOptions& options);

std::string to_json(const RunOptions& options);
RunOptions parse_run_options(const std::string& json, const std::string& where);

}  // namespace coda::train
