// A model's architecture, read from Hugging Face's config.json and written to it: the Llama,
// Mistral, Qwen2, Qwen3 and GPT-2 families. What would make it another computation is refused.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coda/checkpoint/rope.h"
#include "coda/core/types.h"

namespace coda::checkpoint {

enum class Family { kLlama, kMistral, kQwen2, kQwen3, kGpt2 };

// Shares that GPT-2's config.json asks training to drop. They come with every stock checkpoint and
// are no part of what it computes: coda trains without them and writes them as they came.
struct Dropout {
  double embedding = 0, residual = 0, attention = 0;  // embd_pdrop, resid_pdrop, attn_pdrop
  bool operator==(const Dropout&) const = default;
};

// Fields have Llama's names; GPT-2's config.json calls them n_embd, n_inner, n_layer, n_head,
// n_positions, layer_norm_epsilon and activation_function.
struct ModelConfig {
  Family family = Family::kLlama;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;
  double norm_epsilon = 1e-6;
  std::string activation = "silu";  // of the MLP, as transformers calls it
  Rope rope;                        // not of GPT-2, which has a table of positions
  bool tie_word_embeddings = false;
  bool attention_bias = false;            // Llama and Qwen3: biases on q, k, v and o
  Dropout dropout;                        // GPT-2
  std::optional<int64_t> sliding_window;  // Mistral: no sequence may be longer
  double initializer_range = 0.02;        // deviation of random weights
  DType dtype = DType::kFp32;             // of the weights' files
  std::optional<int64_t> bos_token_id, pad_token_id;
  std::vector<int64_t> eos_token_ids;

  bool is_gpt2() const { return family == Family::kGpt2; }
  bool qkv_bias() const { return attention_bias || family == Family::kQwen2; }
  bool output_bias() const { return attention_bias; }  // on o_proj
  bool qk_norm() const { return family == Family::kQwen3; }
  std::vector<float> inverse_frequencies() const {
    return checkpoint::inverse_frequencies(rope, head_dim);
  }
  bool operator==(const ModelConfig&) const = default;
};

const char* model_type(Family family);  // "llama"

// Throw coda::Error naming the field, its value and what is supported; `where` begins the message.
// A field that is missing has the default of `transformers`, but sizes must be there, and token ids
// have none.
ModelConfig parse_model_config(std::string_view json, const std::string& where);
ModelConfig read_model_config(const std::string& path);  // of config.json

// That sizes are positive and fit together, also of a config made in code.
void validate(const ModelConfig& config, const std::string& where);

// A config.json from which `transformers`, 4 and 5, makes the same model.
std::string to_json(const ModelConfig& config);

}  // namespace coda::checkpoint
