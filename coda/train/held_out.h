// The loss of a model on held-out text.
#pragma once
#include "coda/block/model.h"
#include "coda/train/batches.h"

namespace coda::train {

struct HeldOutLoss {
  double mean = 0;  // nats per token
  int64_t tokens = 0;
};

// The first batches, at most so many; shown(done) after each.
HeldOutLoss held_out_loss(block::Model& model, const Batches& batches, int64_t at_most,
                          const std::function<void(int64_t)>& shown = {});

}  // namespace coda::train
