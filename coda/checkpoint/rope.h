// The frequencies of rotary position embeddings, as a model's config.json describes them.
#pragma once
#include <cstdint>
#include <vector>

namespace coda::checkpoint {

enum class RopeScaling { kNone, kLinear, kLlama3 };  // "default", "linear", "llama3"

struct Rope {
  double theta = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;                             // linear, llama3
  double low_freq_factor = 1;                    // llama3
  double high_freq_factor = 4;                   // llama3
  int64_t original_max_position_embeddings = 0;  // llama3
  bool operator==(const Rope&) const = default;
};

// [head_dim / 2], computed in fp64. None of the scalings gives cosines and sines a factor.
std::vector<float> inverse_frequencies(const Rope& rope, int64_t head_dim);

}  // namespace coda::checkpoint
