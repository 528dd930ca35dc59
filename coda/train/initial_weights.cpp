#include "coda/train/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "coda/core/random.h"
#include "coda/cpu/threads.h"

namespace coda::train {
namespace {

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

bool writes_to_stream(std::string_view name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") ||
         name.ends_with("c_proj.weight");
}

// Every row has its own seed, so that threads share the work.
void draw_rows(std::span<float> values, int64_t columns, uint64_t seed, double deviation,
               int threads) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
#pragma omp parallel for num_threads(threads)
  for (int64_t row = 0; row < rows; ++row) {
    Random random(mix(seed, static_cast<uint64_t>(row)));
    float* at = values.data() + row * columns;
    for (int64_t i = 0; i < columns; ++i) at[i] = static_cast<float>(deviation * random.normal());
  }
}

}  // namespace

void set_initial_weights(block::Model& model, uint64_t seed, int asked_threads) {
  const int threads = cpu::thread_count("initial weights", asked_threads);
  const double shrink = 1 / std::sqrt(2.0 * static_cast<double>(model.sizes().layers));
  std::vector<float> values;
  for (const block::Parameter& parameter : model.parameters().all()) {
    const auto count = static_cast<size_t>(parameter.rows * parameter.columns);
    const std::string& name = parameter.stock[0].name;
    if (parameter.role == block::Role::kNorm || parameter.role == block::Role::kBias) {
      values.assign(count, 0.0f);
      if (parameter.role == block::Role::kNorm) {  // its first row; the second is the norm's bias
        std::fill_n(values.begin(), parameter.columns, 1.0f);
      }
    } else {
      const double deviation =
          model.config().initializer_range * (writes_to_stream(name) ? shrink : 1);
      values.resize(count);
      draw_rows(values, parameter.columns, mix(seed, hash(name)), deviation, threads);
    }
    model.set_weight(parameter, values);
  }
  model.finish_weights();
}

}  // namespace coda::train
