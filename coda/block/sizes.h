// The numbers that a model's tensors follow from.
#pragma once
#include <string>

#include "coda/checkpoint/model_config.h"
#include "coda/program/ports.h"

namespace coda::block {

// How many partial sums cover so many columns, or rows.
constexpr int64_t partials(int64_t extent) { return (extent + kPartialWidth - 1) / kPartialWidth; }

struct Sizes {
  int64_t batch = 0, sequence = 0;  // sequences, tokens of each
  int64_t layers = 0, hidden = 0, ffn = 0, vocab = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool biases = false, head_norms = false, tied = false;
  double epsilon = 0;     // of all norms
  bool gpt2 = false;      // LayerNorm, positions in a table, an MLP without a gate; else like Llama
  int64_t positions = 0;  // GPT-2: that the table has
  std::string activation;  // of the MLP, as config.json has it

  int64_t tokens() const { return batch * sequence; }
  int64_t attended() const { return heads * head_dim; }
  int64_t kv() const { return kv_heads * head_dim; }
};

Sizes sizes_of(const checkpoint::ModelConfig& config, int64_t batch, int64_t sequence);

}  // namespace coda::block
