// Weights to begin training with: norms 1, biases 0, matrices normal with the deviation that the
// configuration says (0.02), those that write to the residual stream smaller by the root of how
// many there are. Every tensor's numbers follow from the seed and its name, on every machine.
#pragma once
#include "coda/block/model.h"

namespace coda::train {

// asked_threads: 0 is all.
void set_initial_weights(block::Model& model, uint64_t seed, int asked_threads = 0);

}  // namespace coda::train
