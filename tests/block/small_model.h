// A model of a few thousand numbers, with every kind of tensor.
#pragma once
#include <cstdint>
#include <vector>

#include "coda/block/model.h"
#include "coda/core/random.h"

namespace coda::block {

inline checkpoint::ModelConfig small_config(
    checkpoint::Family family = checkpoint::Family::kLlama) {
  checkpoint::ModelConfig config;
  config.family = family;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 4;
  config.num_key_value_heads = config.is_gpt2() ? 4 : 2;
  config.head_dim = 16;
  config.vocab_size = 100;
  config.max_position_embeddings = 128;
  config.tie_word_embeddings = true;
  config.activation = config.is_gpt2() ? "gelu_new" : "silu";
  return config;
}

inline ModelOptions small_options() {
  ModelOptions options;
  options.batch = 4;
  options.sequence = 33;
  options.type = DType::kFp32;
  return options;
}

inline std::vector<int64_t> draw_tokens(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  for (int64_t& token : tokens) token = random.between(0, 99);
  return tokens;
}

}  // namespace coda::block
