#include "coda/checkpoint/parameter_names.h"

#include <fmt/format.h>

#include <utility>

namespace coda::checkpoint {
namespace {

void add_layer(const ModelConfig& config, int64_t layer, std::vector<NamedShape>& names) {
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const auto add = [&](const char* name, std::vector<int64_t> shape) {
    names.push_back({prefix + name, std::move(shape)});
  };
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  const int64_t queries = config.num_attention_heads * config.head_dim;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  add("input_layernorm.weight", {hidden});
  add("self_attn.q_proj.weight", {queries, hidden});
  add("self_attn.k_proj.weight", {keys, hidden});
  add("self_attn.v_proj.weight", {keys, hidden});
  if (config.qkv_bias()) {
    add("self_attn.q_proj.bias", {queries});
    add("self_attn.k_proj.bias", {keys});
    add("self_attn.v_proj.bias", {keys});
  }
  if (config.qk_norm()) {
    add("self_attn.q_norm.weight", {config.head_dim});
    add("self_attn.k_norm.weight", {config.head_dim});
  }
  add("self_attn.o_proj.weight", {hidden, queries});
  if (config.output_bias()) add("self_attn.o_proj.bias", {hidden});
  add("post_attention_layernorm.weight", {hidden});
  add("mlp.gate_proj.weight", {inner, hidden});
  add("mlp.up_proj.weight", {inner, hidden});
  add("mlp.down_proj.weight", {hidden, inner});
}

}  // namespace

std::vector<NamedShape> parameter_names(const ModelConfig& config) {
  std::vector<NamedShape> names;
  names.push_back({"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}});
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(config, layer, names);
  }
  names.push_back({"model.norm.weight", {config.hidden_size}});
  if (!config.tie_word_embeddings) {
    names.push_back({"lm_head.weight", {config.vocab_size, config.hidden_size}});
  }
  return names;
}

}  // namespace coda::checkpoint
