#include "coda/checkpoint/parameter_names.h"

#include <fmt/format.h>

#include <utility>

namespace coda::checkpoint {
namespace {

void add_llama_layer(const ModelConfig& config, int64_t layer, std::vector<NamedShape>& names) {
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

void add_llama(const ModelConfig& config, std::vector<NamedShape>& names) {
  names.push_back({"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}});
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_llama_layer(config, layer, names);
  }
  names.push_back({"model.norm.weight", {config.hidden_size}});
}

// Linears are stored [in, out].
void add_gpt2(const ModelConfig& config, std::vector<NamedShape>& names) {
  const int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  const auto add = [&](const std::string& name, std::vector<int64_t> weight, int64_t bias) {
    names.push_back({"transformer." + name + ".weight", std::move(weight)});
    if (bias > 0) names.push_back({"transformer." + name + ".bias", {bias}});
  };
  add("wte", {config.vocab_size, hidden}, 0);
  add("wpe", {config.max_position_embeddings, hidden}, 0);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string h = fmt::format("h.{}.", layer);
    add(h + "ln_1", {hidden}, hidden);
    add(h + "attn.c_attn", {hidden, 3 * hidden}, 3 * hidden);
    add(h + "attn.c_proj", {hidden, hidden}, hidden);
    add(h + "ln_2", {hidden}, hidden);
    add(h + "mlp.c_fc", {hidden, inner}, inner);
    add(h + "mlp.c_proj", {inner, hidden}, hidden);
  }
  add("ln_f", {hidden}, hidden);
}

}  // namespace

std::vector<NamedShape> parameter_names(const ModelConfig& config) {
  std::vector<NamedShape> names;
  config.is_gpt2() ? add_gpt2(config, names) : add_llama(config, names);
  if (!config.tie_word_embeddings) {
    names.push_back({"lm_head.weight", {config.vocab_size, config.hidden_size}});
  }
  return names;
}

const char* base_prefix(const ModelConfig& config) {
  return config.is_gpt2() ? "transformer." : "model.";
}

}  // namespace coda::checkpoint
