#include "coda/block/gpt2_parameters.h"

#include <fmt/format.h>

namespace coda::block {

Gpt2Parameters::Gpt2Parameters(const Sizes& sizes, DType type, bool training, MemoryPlan& plan) {
  const int64_t h = sizes.hidden;
  add_embedding("transformer.wte.weight", sizes);
  positions_ = add(Role::kEmbedding, {stock_matrix("transformer.wpe.weight", sizes.positions, h)});
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string name = fmt::format("transformer.h.{}.", i);
    Gpt2Layer layer;
    layer.norm_1 = add_norm(name + "ln_1", sizes);
    layer.qkv = add_linear(name + "attn.c_attn", h, 3 * h);
    layer.attended = add_linear(name + "attn.c_proj", h, h);
    layer.norm_2 = add_norm(name + "ln_2", sizes);
    layer.up = add_linear(name + "mlp.c_fc", h, sizes.ffn);
    layer.down = add_linear(name + "mlp.c_proj", sizes.ffn, h);
    layers_.push_back(layer);
  }
  final_norm_ = add_norm("transformer.ln_f", sizes);
  add_head(sizes);
  declare(type, training, plan);
}

Parameter* Gpt2Parameters::add_norm(const std::string& name, const Sizes& sizes) {
  return add(Role::kNorm, {stock_vector(name + ".weight", sizes.hidden),
                           stock_vector(name + ".bias", sizes.hidden)});
}

Gpt2Linear Gpt2Parameters::add_linear(const std::string& name, int64_t in, int64_t out) {
  return {add(Role::kMatrix, {stock_matrix(name + ".weight", in, out)}),
          add(Role::kBias, {stock_vector(name + ".bias", out)})};
}

}  // namespace coda::block
