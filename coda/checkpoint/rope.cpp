#include "coda/checkpoint/rope.h"

#include <cmath>
#include <numbers>

namespace coda::checkpoint {
namespace {

// Waves longer than the original context are stretched by the factor, short ones are kept, and
// those between are a mixture.
double llama3_frequency(const Rope& rope, double frequency) {
  const double turns = static_cast<double>(rope.original_max_position_embeddings) * frequency /
                       (2 * std::numbers::pi);  // over the original context
  if (turns < rope.low_freq_factor) return frequency / rope.factor;
  if (turns > rope.high_freq_factor) return frequency;
  const double kept =
      (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - kept) * frequency / rope.factor + kept * frequency;
}

}  // namespace

std::vector<float> inverse_frequencies(const Rope& rope, int64_t head_dim) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < head_dim; i += 2) {
    double frequency =
        std::pow(rope.theta, -static_cast<double>(i) / static_cast<double>(head_dim));
    if (rope.scaling == RopeScaling::kLinear) frequency /= rope.factor;
    if (rope.scaling == RopeScaling::kLlama3) frequency = llama3_frequency(rope, frequency);
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

}  // namespace coda::checkpoint
