#pragma once
#include "coda/block/list_maker.h"

namespace coda::block {

enum class Fold { kByRule, kKept, kFolded };

struct ModelOptions {
  int64_t batch = 1, sequence = 0;  // of one part
  int64_t parts = 1;                // of the batch for one weight update, one after another
  DType type = DType::kBf16;        // or fp32, on the CPU
  bool training = true;             // else there are no gradients and no optimizer
  Recompute recompute = Recompute::kActivation;
  Fold fold = Fold::kByRule;
  double beta1 = 0.9, beta2 = 0.95, adam_epsilon = 1e-8;
  double decay = 0.1;     // of matrices; norms and biases have none
  double max_norm = 1.0;  // of all gradients together; 0: not clipped
};

// Whether γ is folded into the weights behind a norm. Kept, it costs x⊙γ, [tokens, h], written in
// forward and again in backward; folded, W⊙γ, written once per update, and W, read by the weight
// gradient of every part, which counts four times. The cheaper one wins: many tokens per update
// fold.
bool folds(const Sizes& sizes, const ModelOptions& options);

}  // namespace coda::block
