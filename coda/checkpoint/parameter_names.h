// The names and shapes of a model's parameters, as stock checkpoints have them.
#pragma once
#include <vector>

#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/named_shape.h"

namespace coda::checkpoint {

// model.embed_tokens.weight, model.layers.0.self_attn.q_proj.weight, ... in the order of the
// computation; lm_head.weight comes last, and not where embeddings are tied.
std::vector<NamedShape> parameter_names(const ModelConfig& config);

}  // namespace coda::checkpoint
