#include "coda/train/initial_weights.h"

#include <cmath>
#include <string_view>

#include "coda/core/random.h"

namespace coda::train {
namespace {

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

bool writes_to_stream(std::string_view name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
}

}  // namespace

void set_initial_weights(block::Model& model, uint64_t seed) {
  const double shrink = 1 / std::sqrt(2.0 * static_cast<double>(model.sizes().layers));
  std::vector<float> values;
  for (const block::Parameter& parameter : model.parameters().all()) {
    const auto count = static_cast<size_t>(parameter.rows * parameter.columns);
    const std::string& name = parameter.stock[0].name;
    if (parameter.role == block::Role::kNorm || parameter.role == block::Role::kBias) {
      values.assign(count, parameter.role == block::Role::kNorm ? 1.0f : 0.0f);
    } else {
      const double deviation = 0.02 * (writes_to_stream(name) ? shrink : 1);
      Random random(mix(seed, hash(name)));
      values.resize(count);
      for (float& value : values) value = static_cast<float>(deviation * random.normal());
    }
    model.set_weight(parameter, values);
  }
  model.finish_weights();
}

}  // namespace coda::train
