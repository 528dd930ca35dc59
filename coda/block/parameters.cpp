#include "coda/block/parameters.h"

#include <fmt/format.h>

#include "coda/block/call.h"

namespace coda::block {
namespace {

StockTensor matrix(std::string name, int64_t rows, int64_t columns) {
  return {std::move(name), {rows, columns}, 0, rows};
}
StockTensor vector(std::string name, int64_t length) { return {std::move(name), {length}, 0, 1}; }

// Floats of its share of the sums of squares, so that each begins at 256 bytes.
int64_t squares_count(const Parameter& parameter) { return (parameter.rows + 63) / 64 * 64; }

}  // namespace

TensorView Parameter::part(const TensorView& whole, size_t i) const {
  return rows_of(whole, stock[i].first_row, stock[i].rows);
}

std::vector<TensorView> Parameter::multiplied_parts() const {
  std::vector<TensorView> parts;
  for (size_t i = 0; i < stock.size(); ++i) parts.push_back(part(multiplied(), i));
  return parts;
}

int64_t Parameter::row_parts() const {
  int64_t count = 0;
  for (const StockTensor& tensor : stock) count += partials(tensor.rows);
  return count;
}

Parameters::Parameters(const Sizes& sizes, DType type, bool fold, bool training, MemoryPlan& plan) {
  embedding_ =
      add(Role::kEmbedding, {matrix("model.embed_tokens.weight", sizes.vocab, sizes.hidden)});
  for (int64_t i = 0; i < sizes.layers; ++i) add_layer(i, sizes, fold);
  final_norm_ = add(Role::kNorm, {vector("model.norm.weight", sizes.hidden)});
  head_ = sizes.tied ? embedding_
                     : add(Role::kEmbedding, {matrix("lm_head.weight", sizes.vocab, sizes.hidden)});
  for (Parameter& parameter : all_) declare(parameter, type, training, plan);
  if (training) declare_squares(plan);
}

Parameter* Parameters::add(Role role, std::vector<StockTensor> stock) {
  Parameter& parameter = all_.emplace_back();
  parameter.role = role;
  parameter.columns = stock[0].shape.back();
  for (StockTensor& tensor : stock) {
    tensor.first_row = parameter.rows;
    parameter.rows += tensor.rows;
  }
  parameter.stock = std::move(stock);
  return &parameter;
}

void Parameters::add_layer(int64_t i, const Sizes& sizes, bool fold) {
  const std::string layer = fmt::format("model.layers.{}.", i);
  const std::string attention = layer + "self_attn.", mlp = layer + "mlp.";
  const int64_t h = sizes.hidden, attended = sizes.attended(), kv = sizes.kv();
  LayerParameters p;
  p.input_norm = add(Role::kNorm, {vector(layer + "input_layernorm.weight", h)});
  p.qkv = add(Role::kMatrix, {matrix(attention + "q_proj.weight", attended, h),
                              matrix(attention + "k_proj.weight", kv, h),
                              matrix(attention + "v_proj.weight", kv, h)});
  if (sizes.biases) {
    p.q_bias = add(Role::kBias, {vector(attention + "q_proj.bias", attended)});
    p.k_bias = add(Role::kBias, {vector(attention + "k_proj.bias", kv)});
    p.v_bias = add(Role::kBias, {vector(attention + "v_proj.bias", kv)});
  }
  if (sizes.head_norms) {
    p.q_norm = add(Role::kNorm, {vector(attention + "q_norm.weight", sizes.head_dim)});
    p.k_norm = add(Role::kNorm, {vector(attention + "k_norm.weight", sizes.head_dim)});
  }
  p.o = add(Role::kMatrix, {matrix(attention + "o_proj.weight", h, attended)});
  p.post_norm = add(Role::kNorm, {vector(layer + "post_attention_layernorm.weight", h)});
  p.gate_up = add(Role::kMatrix, {matrix(mlp + "gate_proj.weight", sizes.ffn, h),
                                  matrix(mlp + "up_proj.weight", sizes.ffn, h)});
  p.down = add(Role::kMatrix, {matrix(mlp + "down_proj.weight", h, sizes.ffn)});
  if (fold) {
    p.qkv->folded_norm = p.input_norm;
    p.gate_up->folded_norm = p.post_norm;
  }
  layers_.push_back(p);
}

void Parameters::declare(Parameter& parameter, DType type, bool training, MemoryPlan& plan) {
  const auto one = [&](const char* what, Use use, DType of) {
    return plan.declare(parameter.stock[0].name + what, use, of, parameter.rows, parameter.columns);
  };
  parameter.weight = one("", Use::kWeights, type);
  if (parameter.folded_norm != nullptr) {
    parameter.folded = one(", folded", Use::kFolded, type);
  }
  if (!training) return;
  parameter.gradient = one(", gradient", Use::kGradients, DType::kFp32);
  parameter.master = one(", fp32", Use::kMaster, DType::kFp32);
  parameter.m = one(", first moment", Use::kMoments, DType::kFp32);
  parameter.v = one(", second moment", Use::kMoments, DType::kFp32);
}

void Parameters::declare_squares(MemoryPlan& plan) {
  int64_t total = 0;
  for (const Parameter& parameter : all_) total += squares_count(parameter);
  squares_ = plan.declare("sums of squared gradients", Use::kInputs, DType::kFp32, 1, total);
  const auto* next = static_cast<const char*>(squares_.data);
  for (Parameter& parameter : all_) {
    parameter.squares = squares_;
    parameter.squares.data = next;
    parameter.squares.columns = parameter.squares.ld = parameter.rows;
    next += squares_count(parameter) * squares_.element_bytes;
  }
}

int64_t Parameters::count() const {
  int64_t sum = 0;
  for (const Parameter& parameter : all_) sum += parameter.rows * parameter.columns;
  return sum;
}

void Parameters::make_real(const MemoryPlan& plan, void* base) {
  for (Parameter& p : all_) {
    for (TensorView* view : {&p.weight, &p.folded, &p.gradient, &p.master, &p.m, &p.v, &p.squares})
      *view = plan.real(*view, base);
  }
  squares_ = plan.real(squares_, base);
}

}  // namespace coda::block
