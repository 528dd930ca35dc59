#include "coda/train/model_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "coda/checkpoint/model_files.h"
#include "coda/checkpoint/run_folder.h"
#include "coda/core/error.h"
#include "coda/train/presets.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;

// Beside config.json may lie a token file, *.bin too, and what trainers keep of a run.
bool holds_weights(std::string_view name) {
  constexpr std::array kOfARun = {"optimizer", "scheduler", "rng_state", "scaler", "training_args"};
  const auto begins = [&](const char* begin) { return name.starts_with(begin); };
  if (std::ranges::any_of(kOfARun, begins)) return false;
  constexpr std::array kSuffixes = {".safetensors", ".safetensors.index.json",
                                    "model.bin",    ".gguf",
                                    ".h5",          ".msgpack",
                                    ".npz",         ".onnx",
                                    ".pt",          ".pth",
                                    ".ckpt",        ".ckpt.index"};
  return name.starts_with("pytorch_model") ||
         std::ranges::any_of(kSuffixes, [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

std::string resolve_model(const std::string& model) {
  std::error_code ignored;
  if (!fs::is_directory(model, ignored) || fs::exists(model + "/config.json", ignored))
    return model;
  const auto latest = checkpoint::latest_checkpoint(model);
  return latest ? latest->path : model;
}

checkpoint::ModelConfig config_of(const std::string& model) {
  if (is_preset(model)) return preset(model);
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) {
    throw Error(fmt::format("model: expected {} or a folder with config.json, got '{}'",
                            fmt::join(preset_names(), ", "), model));
  }
  return checkpoint::read_model_config(model + "/config.json");
}

bool has_weights(const std::string& model) {
  if (is_preset(model)) return false;
  if (checkpoint::ModelFiles::are_in(model)) return true;
  std::error_code ignored;
  std::vector<std::string> found;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(model)) {
      const std::string name = entry.path().filename().string();
      if (!holds_weights(name)) continue;
      found.push_back(entry.exists(ignored) ? name : name + " (a link that leads nowhere)");
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(
        fmt::format("cannot read the model folder '{}': {}", model, error.code().message()));
  }
  if (found.empty()) return false;
  std::ranges::sort(found);
  throw Error(
      fmt::format("model folder '{}': expected its weights in {} or in the shards that {} lists, "
                  "or none at all, to begin with random ones; got {}; other formats are converted "
                  "by `save_pretrained` of transformers",
                  model, checkpoint::ModelFiles::kSingle, checkpoint::ModelFiles::kIndex,
                  fmt::join(found, ", ")));
}

}  // namespace coda::train
