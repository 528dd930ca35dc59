#include "coda/block/llama_parameters.h"

#include <fmt/format.h>

namespace coda::block {

LlamaParameters::LlamaParameters(const Sizes& sizes, DType type, bool fold, bool training,
                                 MemoryPlan& plan) {
  add_embedding("model.embed_tokens.weight", sizes);
  for (int64_t i = 0; i < sizes.layers; ++i) add_layer(i, sizes, fold);
  final_norm_ = add(Role::kNorm, {stock_vector("model.norm.weight", sizes.hidden)});
  add_head(sizes);
  declare(type, training, plan);
}

void LlamaParameters::add_layer(int64_t i, const Sizes& sizes, bool fold) {
  const std::string layer = fmt::format("model.layers.{}.", i);
  const std::string attention = layer + "self_attn.", mlp = layer + "mlp.";
  const int64_t h = sizes.hidden, attended = sizes.attended(), kv = sizes.kv();
  LayerParameters p;
  p.input_norm = add(Role::kNorm, {stock_vector(layer + "input_layernorm.weight", h)});
  p.qkv = add(Role::kMatrix, {stock_matrix(attention + "q_proj.weight", attended, h),
                              stock_matrix(attention + "k_proj.weight", kv, h),
                              stock_matrix(attention + "v_proj.weight", kv, h)});
  if (sizes.biases) {
    p.q_bias = add(Role::kBias, {stock_vector(attention + "q_proj.bias", attended)});
    p.k_bias = add(Role::kBias, {stock_vector(attention + "k_proj.bias", kv)});
    p.v_bias = add(Role::kBias, {stock_vector(attention + "v_proj.bias", kv)});
  }
  if (sizes.head_norms) {
    p.q_norm = add(Role::kNorm, {stock_vector(attention + "q_norm.weight", sizes.head_dim)});
    p.k_norm = add(Role::kNorm, {stock_vector(attention + "k_norm.weight", sizes.head_dim)});
  }
  p.o = add(Role::kMatrix, {stock_matrix(attention + "o_proj.weight", h, attended)});
  p.post_norm = add(Role::kNorm, {stock_vector(layer + "post_attention_layernorm.weight", h)});
  p.gate_up = add(Role::kMatrix, {stock_matrix(mlp + "gate_proj.weight", sizes.ffn, h),
                                  stock_matrix(mlp + "up_proj.weight", sizes.ffn, h)});
  p.down = add(Role::kMatrix, {stock_matrix(mlp + "down_proj.weight", h, sizes.ffn)});
  if (fold) {
    p.qkv->folded_norm = p.input_norm;
    p.gate_up->folded_norm = p.post_norm;
  }
  layers_.push_back(p);
}

}  // namespace coda::block
