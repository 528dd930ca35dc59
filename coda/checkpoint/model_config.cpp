#include "coda/checkpoint/model_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "coda/checkpoint/json_text.h"
#include "coda/checkpoint/rope_fields.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

// What `transformers` takes where config.json does not say.
struct FamilyDefaults {
  Family family;
  const char* model_type;
  int64_t max_position_embeddings;
  std::optional<int64_t> num_key_value_heads;  // none: as many as there are heads
  std::optional<int64_t> head_dim;             // none: hidden_size / num_attention_heads
};
constexpr std::array kFamilies = {
    FamilyDefaults{Family::kLlama, "llama", 2048, {}, {}},
    FamilyDefaults{Family::kMistral, "mistral", 131072, 8, {}},
    FamilyDefaults{Family::kQwen2, "qwen2", 32768, 32, {}},
    FamilyDefaults{Family::kQwen3, "qwen3", 32768, 32, 128},
};

const FamilyDefaults& read_family(const JsonFields& fields) {
  const std::string type = fields.text("model_type");
  for (const FamilyDefaults& family : kFamilies) {
    if (family.model_type == type) return family;
  }
  fields.fail("model_type", "supported are llama, mistral, qwen2 and qwen3");
}

// A number of heads or columns that must be there and positive: later ones are computed from it.
int64_t read_size(const JsonFields& fields, const char* field) {
  const int64_t size = fields.integer(field);
  if (size < 1) fields.fail(field, "expected 1 or more");
  return size;
}

int64_t read_key_heads(const JsonFields& fields, const FamilyDefaults& family, int64_t heads) {
  constexpr const char* kField = "num_key_value_heads";
  // null, unlike a missing field, is the number of heads in every family.
  const int64_t otherwise = family.num_key_value_heads.value_or(heads);
  return fields.integer(kField, fields.is_null(kField) ? heads : otherwise);
}

int64_t read_head_dim(const JsonFields& fields, const FamilyDefaults& family,
                      const ModelConfig& config) {
  if (fields.has("head_dim")) return fields.integer("head_dim");
  if (family.head_dim) return *family.head_dim;
  if (config.hidden_size % config.num_attention_heads != 0) {
    fields.fail("hidden_size", fmt::format("expected a multiple of num_attention_heads, {}, where "
                                           "head_dim is not given",
                                           config.num_attention_heads));
  }
  return config.hidden_size / config.num_attention_heads;
}

DType read_dtype(const JsonFields& fields) {
  const char* field = fields.has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = fields.text(field, "float32");
  if (name == "bfloat16") return DType::kBf16;
  if (name == "float16") return DType::kFp16;
  if (name == "float32") return DType::kFp32;
  fields.fail(field, "supported are bfloat16, float16 and float32");
}

std::vector<int64_t> read_eos(const JsonFields& fields) {
  constexpr const char* kField = "eos_token_id";
  const nlohmann::json& value = fields.at(kField);
  if (value.is_null()) return {};
  if (!value.is_array()) return {fields.integer(kField)};
  std::vector<int64_t> ids;
  for (const auto& id : value) {
    if (!id.is_number_integer()) fields.fail(kField, "expected token numbers");
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

void refuse_sliding_window(const JsonFields& fields, const ModelConfig& config) {
  if (fields.flag("use_sliding_window", false)) {
    fields.fail("use_sliding_window",
                "attention within a window is not supported; set it to false");
  }
  if (config.family == Family::kMistral && !fields.is_null("sliding_window")) {
    const int64_t window = fields.integer("sliding_window", 4096);
    if (window < config.max_position_embeddings) {
      fields.fail("sliding_window",
                  fmt::format("attention within a window, here {} of {} positions, is not "
                              "supported; set it to null, or max_position_embeddings to {}",
                              window, config.max_position_embeddings, window));
    }
  }
  const nlohmann::json& layers = fields.at("layer_types");
  if (layers.is_null()) return;
  for (const auto& type : layers) {
    if (type != "full_attention") fields.fail("layer_types", "supported is full_attention alone");
  }
}

void refuse_other_computations(const JsonFields& fields, const ModelConfig& config) {
  if (fields.text("hidden_act", "silu") != "silu") fields.fail("hidden_act", "supported is silu");
  if (fields.flag("mlp_bias", false)) fields.fail("mlp_bias", "supported is false");
  if (fields.number("attention_dropout", 0) != 0) {
    fields.fail("attention_dropout", "supported is 0");
  }
  if (fields.has("quantization_config")) {
    fields.fail("quantization_config", "weights in bf16, fp16 or fp32 are supported");
  }
  refuse_sliding_window(fields, config);
}

[[noreturn]] void fail(const std::string& where, const char* field, const std::string& value,
                       const std::string& expected) {
  throw Error(fmt::format("{}: '{}' is {}; expected {}", where, field, value, expected));
}

}  // namespace

const char* model_type(Family family) {
  for (const FamilyDefaults& known : kFamilies) {
    if (known.family == family) return known.model_type;
  }
  fail_argument("model_type", "family", "a known family", std::to_string(static_cast<int>(family)));
}

ModelConfig parse_model_config(std::string_view text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  const JsonFields fields(json, where);
  const FamilyDefaults& family = read_family(fields);
  ModelConfig config;
  config.family = family.family;
  config.hidden_size = read_size(fields, "hidden_size");
  config.intermediate_size = read_size(fields, "intermediate_size");
  config.num_hidden_layers = read_size(fields, "num_hidden_layers");
  config.num_attention_heads = read_size(fields, "num_attention_heads");
  config.num_key_value_heads = read_key_heads(fields, family, config.num_attention_heads);
  config.head_dim = read_head_dim(fields, family, config);
  config.vocab_size = read_size(fields, "vocab_size");
  config.max_position_embeddings =
      fields.integer("max_position_embeddings", family.max_position_embeddings);
  config.rms_norm_eps = fields.number("rms_norm_eps", 1e-6);
  config.rope = read_rope(fields, config.max_position_embeddings);
  config.tie_word_embeddings = fields.flag("tie_word_embeddings", false);
  if (config.family == Family::kLlama || config.family == Family::kQwen3) {
    config.attention_bias = fields.flag("attention_bias", false);
  }
  config.dtype = read_dtype(fields);
  if (fields.has("bos_token_id")) config.bos_token_id = fields.integer("bos_token_id");
  config.eos_token_ids = read_eos(fields);
  refuse_other_computations(fields, config);
  validate(config, where);
  return config;
}

ModelConfig read_model_config(const std::string& path) {
  return parse_model_config(read_text(path), fmt::format("'{}'", path));
}

void validate(const ModelConfig& config, const std::string& where) {
  constexpr int64_t kLargest = INT32_MAX;  // indices of programs
  constexpr int64_t kMostLayers = 10000;   // their names alone would fill the memory beyond
  const auto check = [&](const char* field, int64_t value, int64_t largest) {
    if (value < 1 || value > largest) {
      fail(where, field, std::to_string(value), fmt::format("1 to {}", largest));
    }
  };
  check("hidden_size", config.hidden_size, kLargest);
  check("intermediate_size", config.intermediate_size, kLargest);
  check("num_hidden_layers", config.num_hidden_layers, kMostLayers);
  check("num_attention_heads", config.num_attention_heads, kLargest);
  check("num_key_value_heads", config.num_key_value_heads, kLargest);
  check("head_dim", config.head_dim, kLargest / config.num_attention_heads);
  check("vocab_size", config.vocab_size, kLargest);
  check("max_position_embeddings", config.max_position_embeddings, kLargest);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    fail(where, "num_key_value_heads", std::to_string(config.num_key_value_heads),
         fmt::format("a divisor of num_attention_heads, {}", config.num_attention_heads));
  }
  if (config.head_dim % 2 != 0) {
    fail(where, "head_dim", std::to_string(config.head_dim), "an even number, for rotations");
  }
  if (!(config.rms_norm_eps > 0) || !std::isfinite(config.rms_norm_eps)) {
    fail(where, "rms_norm_eps", fmt::format("{}", config.rms_norm_eps), "more than 0");
  }
  if (config.attention_bias &&
      (config.family == Family::kMistral || config.family == Family::kQwen2)) {
    fail(where, "attention_bias", "true",
         fmt::format("false: the family {} has no such choice", model_type(config.family)));
  }
  validate(config.rope, where);
}

}  // namespace coda::checkpoint
