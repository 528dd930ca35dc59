// The names and shapes of a model's parameters, as stock checkpoints have them.
#pragma once
#include <vector>

#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/named_shape.h"

namespace coda::checkpoint {

// model.embed_tokens.weight, model.layers.0.self_attn.q_proj.weight, ..., or GPT-2's:
// transformer.wte.weight, transformer.h.0.ln_1.weight, ... in the order of the computation;
// lm_head.weight comes last, and not where embeddings are tied.
std::vector<NamedShape> parameter_names(const ModelConfig& config);

// What the names begin with but for the head's, "model." or "transformer."; a file of the model
// without its head leaves it out.
const char* base_prefix(const ModelConfig& config);

}  // namespace coda::checkpoint
