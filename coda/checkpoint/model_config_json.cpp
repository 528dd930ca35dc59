#include "coda/checkpoint/architecture_fields.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

const char* architecture(Family family) {
  switch (family) {
    case Family::kLlama: return "LlamaForCausalLM";
    case Family::kMistral: return "MistralForCausalLM";
    case Family::kQwen2: return "Qwen2ForCausalLM";
    case Family::kQwen3: return "Qwen3ForCausalLM";
    case Family::kGpt2: return "GPT2LMHeadModel";
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
  config.is_gpt2() ? write_gpt2_fields(config, json) : write_llama_fields(config, json);
  json["initializer_range"] = config.initializer_range;
  json["torch_dtype"] = torch_name(config.dtype);
  json["bos_token_id"] = nullptr;
  if (config.bos_token_id) json["bos_token_id"] = *config.bos_token_id;
  json["eos_token_id"] = nullptr;
  if (config.eos_token_ids.size() == 1) json["eos_token_id"] = config.eos_token_ids[0];
  if (config.eos_token_ids.size() > 1) json["eos_token_id"] = config.eos_token_ids;
  json["pad_token_id"] = nullptr;
  if (config.pad_token_id) json["pad_token_id"] = *config.pad_token_id;
  json["use_cache"] = true;
  return json.dump(2) + "\n";
}

}  // namespace coda::checkpoint
