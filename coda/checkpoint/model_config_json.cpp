#include <nlohmann/json.hpp>

#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/rope_fields.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

const char* architecture(Family family) {
  switch (family) {
    case Family::kLlama: return "LlamaForCausalLM";
    case Family::kMistral: return "MistralForCausalLM";
    case Family::kQwen2: return "Qwen2ForCausalLM";
    case Family::kQwen3: return "Qwen3ForCausalLM";
  }
  return "unknown";
}

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::kBf16: return "bfloat16";
    case DType::kFp16: return "float16";
    case DType::kFp32: return "float32";
    default: fail_argument("to_json", "dtype", "bf16, fp16 or fp32", dtype_name(dtype));
  }
}

}  // namespace

std::string to_json(const ModelConfig& config) {
  validate(config, "to_json");
  nlohmann::ordered_json json;
  json["architectures"] = {architecture(config.family)};
  json["model_type"] = model_type(config.family);
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["intermediate_size"] = config.intermediate_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["num_key_value_heads"] = config.num_key_value_heads;
  json["head_dim"] = config.head_dim;
  json["hidden_act"] = "silu";
  json["max_position_embeddings"] = config.max_position_embeddings;
  json["rms_norm_eps"] = config.rms_norm_eps;
  write_rope(config.rope, json);
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  if (config.family == Family::kLlama || config.family == Family::kQwen3) {
    json["attention_bias"] = config.attention_bias;
  }
  json["attention_dropout"] = 0.0;
  if (config.family == Family::kLlama) json["mlp_bias"] = false;
  if (config.family == Family::kMistral) json["sliding_window"] = nullptr;
  if (config.family == Family::kQwen2 || config.family == Family::kQwen3) {
    json["use_sliding_window"] = false;
  }
  json["torch_dtype"] = torch_name(config.dtype);
  json["bos_token_id"] = nullptr;
  if (config.bos_token_id) json["bos_token_id"] = *config.bos_token_id;
  json["eos_token_id"] = nullptr;
  if (config.eos_token_ids.size() == 1) json["eos_token_id"] = config.eos_token_ids[0];
  if (config.eos_token_ids.size() > 1) json["eos_token_id"] = config.eos_token_ids;
  json["use_cache"] = true;
  return json.dump(2) + "\n";
}

}  // namespace coda::checkpoint
