#include "coda/checkpoint/model_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "coda/checkpoint/architecture_fields.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

struct NamedFamily {
  Family family;
  const char* model_type;
};
constexpr std::array kFamilies = {
    NamedFamily{Family::kLlama, "llama"}, NamedFamily{Family::kMistral, "mistral"},
    NamedFamily{Family::kQwen2, "qwen2"}, NamedFamily{Family::kQwen3, "qwen3"},
    NamedFamily{Family::kGpt2, "gpt2"},
};

Family read_family(const JsonFields& fields) {
  const std::string type = fields.text("model_type");
  for (const NamedFamily& known : kFamilies) {
    if (known.model_type == type) return known.family;
  }
  fields.fail("model_type", "supported are llama, mistral, qwen2, qwen3 and gpt2");
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
    const auto integer = integer_in(id);
    if (!integer) fields.fail(kField, "expected token numbers");
    ids.push_back(*integer);
  }
  return ids;
}

}  // namespace

const char* model_type(Family family) {
  for (const NamedFamily& known : kFamilies) {
    if (known.family == family) return known.model_type;
  }
  fail_argument("model_type", "family", "a known family", std::to_string(static_cast<int>(family)));
}

ModelConfig parse_model_config(std::string_view text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  const JsonFields fields(json, where);
  const Family family = read_family(fields);
  ModelConfig config =
      family == Family::kGpt2 ? read_gpt2_fields(fields) : read_llama_fields(fields, family);
  config.dtype = read_dtype(fields);
  config.initializer_range = fields.number("initializer_range", config.initializer_range);
  if (fields.has("bos_token_id")) config.bos_token_id = fields.integer("bos_token_id");
  if (fields.has("pad_token_id")) config.pad_token_id = fields.integer("pad_token_id");
  config.eos_token_ids = read_eos(fields);
  if (fields.is_null("is_causal")) fail_field(where, "is_causal", "null", "true; null is false");
  if (!fields.flag("is_causal", true)) {
    fields.fail("is_causal", "attention to later tokens is not supported");
  }
  if (fields.has("quantization_config")) {
    fields.fail("quantization_config", "weights in bf16, fp16 or fp32 are supported");
  }
  validate(config, where);
  return config;
}

ModelConfig read_model_config(const std::string& path) {
  return parse_model_config(read_text(path), fmt::format("'{}'", path));
}

void validate(const ModelConfig& config, const std::string& where) {
  config.is_gpt2() ? validate_gpt2(config, where) : validate_llama(config, where);
  if (config.initializer_range >= 0 && std::isfinite(config.initializer_range)) return;
  fail_field(where, "initializer_range", fmt::format("{}", config.initializer_range), "0 or more");
}

int64_t read_size(const JsonFields& fields, const char* field) {
  const int64_t size = fields.integer(field);
  if (size < 1) fields.fail(field, "expected 1 or more");
  return size;
}

void fail_field(const std::string& where, const char* field, const std::string& value,
                const std::string& expected) {
  throw Error(fmt::format("{}: '{}' is {}; expected {}", where, field, value, expected));
}

void check_size(const std::string& where, const char* field, int64_t value, int64_t largest) {
  if (value >= 1 && value <= largest) return;
  fail_field(where, field, std::to_string(value), fmt::format("1 to {}", largest));
}

void check_epsilon(const std::string& where, const char* field, double value) {
  if (value > 0 && std::isfinite(value)) return;
  fail_field(where, field, fmt::format("{}", value), "more than 0");
}

}  // namespace coda::checkpoint
