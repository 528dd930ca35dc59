// Llama, Mistral, Qwen2 and Qwen3.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "coda/checkpoint/architecture_fields.h"
#include "coda/checkpoint/rope_fields.h"

namespace coda::checkpoint {
namespace {

// What `transformers` takes where config.json does not say.
struct FamilyDefaults {
  Family family;
  int64_t max_position_embeddings;
  std::optional<int64_t> num_key_value_heads;  // none: as many as there are heads
  std::optional<int64_t> head_dim;             // none: hidden_size / num_attention_heads
};
constexpr std::array kDefaults = {
    FamilyDefaults{Family::kLlama, 2048, {}, {}},
    FamilyDefaults{Family::kMistral, 131072, 8, {}},
    FamilyDefaults{Family::kQwen2, 32768, 32, {}},
    FamilyDefaults{Family::kQwen3, 32768, 32, 128},
};

const FamilyDefaults& defaults_of(Family family) {
  for (const FamilyDefaults& defaults : kDefaults) {
    if (defaults.family == family) return defaults;
  }
  return kDefaults[0];
}

int64_t read_key_heads(const JsonFields& fields, const FamilyDefaults& defaults, int64_t heads) {
  constexpr const char* kField = "num_key_value_heads";
  // null, unlike a missing field, is the number of heads in every family.
  const int64_t otherwise = defaults.num_key_value_heads.value_or(heads);
  return fields.integer(kField, fields.is_null(kField) ? heads : otherwise);
}

int64_t read_head_dim(const JsonFields& fields, const FamilyDefaults& defaults,
                      const ModelConfig& config) {
  if (fields.has("head_dim")) return fields.integer("head_dim");
  if (defaults.head_dim) return *defaults.head_dim;
  if (config.hidden_size % config.num_attention_heads != 0) {
    fields.fail("hidden_size", fmt::format("expected a multiple of num_attention_heads, {}, where "
                                           "head_dim is not given",
                                           config.num_attention_heads));
  }
  return config.hidden_size / config.num_attention_heads;
}

// Mistral's window, where it is as wide as there are positions.
std::optional<int64_t> read_sliding_window(const JsonFields& fields, const ModelConfig& config) {
  if (fields.flag("use_sliding_window", false)) {
    fields.fail("use_sliding_window",
                "attention within a window is not supported; set it to false");
  }
  const nlohmann::json& layers = fields.at("layer_types");
  for (const auto& type : layers) {
    if (type != "full_attention") fields.fail("layer_types", "supported is full_attention alone");
  }
  if (config.family != Family::kMistral || fields.is_null("sliding_window")) return {};
  const int64_t window = fields.integer("sliding_window", 4096);
  if (window < config.max_position_embeddings) {
    fields.fail("sliding_window",
                fmt::format("attention within a window, here {} of {} positions, is not "
                            "supported; set it to null, or max_position_embeddings to {}",
                            window, config.max_position_embeddings, window));
  }
  return window;
}

void refuse_other_computations(const JsonFields& fields, const ModelConfig& config) {
  if (config.activation != "silu") fields.fail("hidden_act", "supported is silu");
  if (fields.flag("mlp_bias", false)) fields.fail("mlp_bias", "supported is false");
  if (fields.number("attention_dropout", 0) != 0) {
    fields.fail("attention_dropout", "supported is 0");
  }
}

}  // namespace

ModelConfig read_llama_fields(const JsonFields& fields, Family family) {
  const FamilyDefaults& defaults = defaults_of(family);
  ModelConfig config;
  config.family = family;
  config.hidden_size = read_size(fields, "hidden_size");
  config.intermediate_size = read_size(fields, "intermediate_size");
  config.num_hidden_layers = read_size(fields, "num_hidden_layers");
  config.num_attention_heads = read_size(fields, "num_attention_heads");
  config.num_key_value_heads = read_key_heads(fields, defaults, config.num_attention_heads);
  config.head_dim = read_head_dim(fields, defaults, config);
  config.vocab_size = read_size(fields, "vocab_size");
  config.max_position_embeddings =
      fields.integer("max_position_embeddings", defaults.max_position_embeddings);
  config.norm_epsilon = fields.number("rms_norm_eps", 1e-6);
  config.activation = fields.text("hidden_act", "silu");
  config.rope = read_rope(fields, config.max_position_embeddings);
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", false);
  if (family == Family::kLlama || family == Family::kQwen3) {
    config.attention_bias = fields.flag("attention_bias", false);
  }
  refuse_other_computations(fields, config);
  config.sliding_window = read_sliding_window(fields, config);
  return config;
}

void validate_llama(const ModelConfig& config, const std::string& where) {
  check_size(where, "hidden_size", config.hidden_size, kLargestSize);
  check_size(where, "intermediate_size", config.intermediate_size, kLargestSize);
  check_size(where, "num_hidden_layers", config.num_hidden_layers, kMostLayers);
  check_size(where, "num_attention_heads", config.num_attention_heads, kLargestSize);
  check_size(where, "num_key_value_heads", config.num_key_value_heads, kLargestSize);
  check_size(where, "head_dim", config.head_dim, kLargestSize / config.num_attention_heads);
  check_size(where, "vocab_size", config.vocab_size, kLargestSize);
  check_size(where, "max_position_embeddings", config.max_position_embeddings, kLargestSize);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    fail_field(where, "num_key_value_heads", std::to_string(config.num_key_value_heads),
               fmt::format("a divisor of num_attention_heads, {}", config.num_attention_heads));
  }
  if (config.head_dim % 2 != 0) {
    fail_field(where, "head_dim", std::to_string(config.head_dim), "an even number, for rotations");
  }
  check_epsilon(where, "rms_norm_eps", config.norm_epsilon);
  if (config.activation != "silu") fail_field(where, "hidden_act", config.activation, "silu");
  if (config.attention_bias &&
      (config.family == Family::kMistral || config.family == Family::kQwen2)) {
    fail_field(where, "attention_bias", "true",
               fmt::format("false: the family {} has no such choice", model_type(config.family)));
  }
  validate(config.rope, where);
}

void write_llama_fields(const ModelConfig& config, nlohmann::ordered_json& json) {
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["intermediate_size"] = config.intermediate_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["num_key_value_heads"] = config.num_key_value_heads;
  json["head_dim"] = config.head_dim;
  json["hidden_act"] = config.activation;
  json["max_position_embeddings"] = config.max_position_embeddings;
  json["rms_norm_eps"] = config.norm_epsilon;
  write_rope(config.rope, json);
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  if (config.family == Family::kLlama || config.family == Family::kQwen3) {
    json["attention_bias"] = config.attention_bias;
  }
  json["attention_dropout"] = 0.0;
  if (config.family == Family::kLlama) json["mlp_bias"] = false;
  if (config.family == Family::kMistral) json["sliding_window"] = nullptr;
  if (config.sliding_window) json["sliding_window"] = *config.sliding_window;
  if (config.family == Family::kQwen2 || config.family == Family::kQwen3) {
    json["use_sliding_window"] = false;
  }
}

}  // namespace coda::checkpoint
