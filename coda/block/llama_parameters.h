#pragma once
#include "coda/block/parameters.h"

namespace coda::block {

struct LayerParameters {
  Parameter *input_norm = nullptr, *qkv = nullptr, *o = nullptr;
  Parameter *q_bias = nullptr, *k_bias = nullptr, *v_bias = nullptr;  // where there are biases
  Parameter *q_norm = nullptr, *k_norm = nullptr;                     // where heads are normalised
  Parameter *post_norm = nullptr, *gate_up = nullptr, *down = nullptr;
};

class LlamaParameters final : public Parameters {
 public:
  LlamaParameters(const Sizes& sizes, DType type, bool fold, bool training, MemoryPlan& plan);

  const LayerParameters& layer(int64_t i) const { return layers_[static_cast<size_t>(i)]; }

 private:
  void add_layer(int64_t i, const Sizes& sizes, bool fold);

  std::vector<LayerParameters> layers_;
};

}  // namespace coda::block
