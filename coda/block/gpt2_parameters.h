// GPT-2's linears are stored [in, out]. A norm's weight γ and bias β are rows 0 and 1 of one
// parameter: as one operand they give Σγ·W and Σβ·W of the linear behind it.
#pragma once
#include "coda/block/call.h"
#include "coda/block/parameters.h"

namespace coda::block {

struct Gpt2Linear {
  Parameter *matrix = nullptr, *bias = nullptr;  // [in, out], [1, out]
};

struct Gpt2Layer {
  Parameter *norm_1 = nullptr, *norm_2 = nullptr;  // [2, h]
  Gpt2Linear qkv, attended;                        // attn.c_attn, attn.c_proj
  Gpt2Linear up, down;                             // mlp.c_fc, mlp.c_proj
};

inline TensorView gamma_of(const TensorView& norm) { return rows_of(norm, 0, 1); }
inline TensorView beta_of(const TensorView& norm) { return rows_of(norm, 1, 1); }

class Gpt2Parameters final : public Parameters {
 public:
  Gpt2Parameters(const Sizes& sizes, DType type, bool training, MemoryPlan& plan);

  const Parameter& positions() const { return *positions_; }  // wpe [n_positions, h]
  const Gpt2Layer& layer(int64_t i) const { return layers_[static_cast<size_t>(i)]; }

 private:
  Parameter* add_norm(const std::string& name, const Sizes& sizes);
  Gpt2Linear add_linear(const std::string& name, int64_t in, int64_t out);

  Parameter* positions_ = nullptr;
  std::vector<Gpt2Layer> layers_;
};

}  // namespace coda::block
