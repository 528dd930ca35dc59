#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "coda/checkpoint/architecture_fields.h"

namespace coda::checkpoint {
namespace {

// transformers' names; gelu_new, gelu_fast and gelu_pytorch_tanh are one function.
constexpr std::array<std::string_view, 7> kActivations = {
    "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu", "relu", "silu", "swish"};
constexpr const char* kActivationNames =
    "gelu_new, gelu_fast, gelu_pytorch_tanh, gelu, relu, silu and swish";

constexpr int64_t kWider = 4;  // how much the MLP is, where n_inner does not say

bool is_supported(const std::string& activation) {
  return std::ranges::find(kActivations, activation) != kActivations.end();
}

void refuse_other_computations(const JsonFields& fields) {
  if (!fields.flag("scale_attn_weights", true)) {
    fields.fail("scale_attn_weights", "attention without its scale is not supported");
  }
  if (fields.flag("scale_attn_by_inverse_layer_idx", false)) {
    fields.fail("scale_attn_by_inverse_layer_idx",
                "attention with a scale of every layer's own is not supported");
  }
  if (fields.flag("reorder_and_upcast_attn", false)) {
    fields.fail("reorder_and_upcast_attn",
                "supported is false; attention adds up in fp32 in any case");
  }
  if (fields.flag("add_cross_attention", false)) {
    fields.fail("add_cross_attention", "attention to another sequence is not supported");
  }
}

void check_share(const std::string& where, const char* field, double value) {
  if (value >= 0 && value < 1) return;
  fail_field(where, field, fmt::format("{}", value), "a share from 0 to below 1");
}

}  // namespace

// Other names that transformers takes: where both are there, the other one counts.
void refuse_contradictions(const JsonFields& fields) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"n_embd", "hidden_size"},
      {"n_layer", "num_hidden_layers"},
      {"n_head", "num_attention_heads"},
      {"n_positions", "max_position_embeddings"}};
  for (const auto& [name, other] : kNames) {
    if (!fields.has(name) || !fields.has(other) || fields.at(name) == fields.at(other)) continue;
    fields.fail(other, fmt::format("expected {} as '{}' says, or only one of them",
                                   json_text(fields.at(name)), name));
  }
}

ModelConfig read_gpt2_fields(const JsonFields& fields) {
  refuse_contradictions(fields);
  ModelConfig config;
  config.family = Family::kGpt2;
  config.hidden_size = read_size(fields, "n_embd");
  config.intermediate_size =
      fields.integer("n_inner", kWider * std::min(config.hidden_size, kLargestSize));
  config.num_hidden_layers = read_size(fields, "n_layer");
  config.num_attention_heads = read_size(fields, "n_head");
  config.num_key_value_heads = config.num_attention_heads;
  if (config.hidden_size % config.num_attention_heads != 0) {
    fields.fail("n_embd",
                fmt::format("expected a multiple of n_head, {}", config.num_attention_heads));
  }
  config.head_dim = config.hidden_size / config.num_attention_heads;
  config.vocab_size = read_size(fields, "vocab_size");
  const bool aliased = !fields.has("n_positions");  // another name that transformers takes
  config.max_position_embeddings =
      fields.integer(aliased ? "max_position_embeddings" : "n_positions", 1024);
  config.norm_epsilon = fields.number("layer_norm_epsilon", 1e-5);
  config.activation = fields.text("activation_function", "gelu_new");
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", true);
  config.dropout = {fields.number("embd_pdrop", 0.1), fields.number("resid_pdrop", 0.1),
                    fields.number("attn_pdrop", 0.1)};
  refuse_other_computations(fields);
  if (!is_supported(config.activation)) {
    fields.fail("activation_function", fmt::format("supported are {}", kActivationNames));
  }
  return config;
}

void validate_gpt2(const ModelConfig& config, const std::string& where) {
  check_size(where, "n_embd", config.hidden_size, kLargestSize / 3);  // q, k, v beside each other
  check_size(where, "n_inner", config.intermediate_size, kLargestSize);
  check_size(where, "n_layer", config.num_hidden_layers, kMostLayers);
  check_size(where, "n_head", config.num_attention_heads, config.hidden_size);
  check_size(where, "vocab_size", config.vocab_size, kLargestSize);
  check_size(where, "n_positions", config.max_position_embeddings, kLargestSize);
  if (config.head_dim * config.num_attention_heads != config.hidden_size ||
      config.num_key_value_heads != config.num_attention_heads) {
    fail_field(where, "n_head", std::to_string(config.num_attention_heads),
               fmt::format("heads of {} columns each that make up n_embd, {}", config.head_dim,
                           config.hidden_size));
  }
  if (config.head_dim % 2 != 0) {
    fail_field(where, "n_head", std::to_string(config.num_attention_heads),
               fmt::format("heads of an even number of columns, not of {}", config.head_dim));
  }
  check_epsilon(where, "layer_norm_epsilon", config.norm_epsilon);
  if (!is_supported(config.activation)) {
    fail_field(where, "activation_function", config.activation,
               fmt::format("one of {}", kActivationNames));
  }
  if (config.attention_bias) {
    fail_field(where, "attention_bias", "true", "false: all linears of the family gpt2 have one");
  }
  check_share(where, "embd_pdrop", config.dropout.embedding);
  check_share(where, "resid_pdrop", config.dropout.residual);
  check_share(where, "attn_pdrop", config.dropout.attention);
}

void write_gpt2_fields(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["vocab_size"] = config.vocab_size;
  json["n_positions"] = config.max_position_embeddings;
  json["n_embd"] = config.hidden_size;
  json["n_layer"] = config.num_hidden_layers;
  json["n_head"] = config.num_attention_heads;
  json["n_inner"] = nullptr;
  if (config.intermediate_size != kWider * config.hidden_size) {
    json["n_inner"] = config.intermediate_size;
  }
  json["activation_function"] = config.activation;
  json["embd_pdrop"] = config.dropout.embedding;
  json["resid_pdrop"] = config.dropout.residual;
  json["attn_pdrop"] = config.dropout.attention;
  json["layer_norm_epsilon"] = config.norm_epsilon;
  json["scale_attn_weights"] = true;
  json["scale_attn_by_inverse_layer_idx"] = false;
  json["reorder_and_upcast_attn"] = false;
  json["add_cross_attention"] = false;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
}

}  // namespace coda::checkpoint
