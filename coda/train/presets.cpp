#include "coda/train/presets.h"

#include "coda/core/error.h"

namespace coda::train {
namespace {

struct Preset {
  const char* name;
  checkpoint::Family family;
  int64_t layers, hidden, ffn, heads, kv_heads, vocab, positions;
};

constexpr Preset kPresets[] = {
    {"tiny", checkpoint::Family::kLlama, 4, 256, 768, 4, 2, 256, 8192},
    {"small", checkpoint::Family::kLlama, 8, 512, 1536, 8, 4, 256, 8192},
    // shaped like LLaMA 3.2's
    {"1b", checkpoint::Family::kLlama, 16, 2048, 8192, 32, 8, 128256, 8192},
    {"gpt2-tiny", checkpoint::Family::kGpt2, 4, 256, 1024, 4, 4, 256, 1024},
    {"gpt2-124m", checkpoint::Family::kGpt2, 12, 768, 3072, 12, 12, 50257, 1024},
};

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

bool is_preset(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return true;
  }
  return false;
}

checkpoint::ModelConfig preset(const std::string& name) {
  for (const Preset& preset : kPresets) {
    if (name != preset.name) continue;
    checkpoint::ModelConfig config;
    config.family = preset.family;
    config.hidden_size = preset.hidden;
    config.intermediate_size = preset.ffn;
    config.num_hidden_layers = preset.layers;
    config.num_attention_heads = preset.heads;
    config.num_key_value_heads = preset.kv_heads;
    config.head_dim = preset.hidden / preset.heads;
    config.vocab_size = preset.vocab;
    config.max_position_embeddings = preset.positions;
    config.norm_epsilon = 1e-5;
    if (config.is_gpt2()) {
      config.activation = "gelu_new";
    } else {
      config.rope.theta = 500000;
    }
    config.tie_word_embeddings = true;
    config.dtype = DType::kBf16;
    return config;
  }
  throw Error("no model preset is called '" + name + "'");
}

}  // namespace coda::train
