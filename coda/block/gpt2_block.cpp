#include "coda/block/gpt2_block.h"

namespace coda::block {
namespace {

using catalogue::Activation;

// name: as checkpoint::ModelConfig has it.
Activation activation_named(const std::string& name) {
  if (name == "gelu") return Activation::kGelu;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  return Activation::kGeluTanh;
}

}  // namespace

Gpt2Blocks::Gpt2Blocks(const ListMaker& maker, const Gpt2Parameters& parameters)
    : ListMaker(maker),
      parameters_(parameters),
      activation_(number("activation", static_cast<double>(activation_named(sizes_.activation)))) {}

Gpt2Stream Gpt2Blocks::stream(const std::string& name) const {
  return {
      activation(name, sizes_.hidden), activation(name + " scaled", sizes_.hidden),
      activation(name + " moments", DType::kFp32, partials(sizes_.hidden), 2 * sizes_.tokens())};
}

Gpt2Stream Gpt2Blocks::forward(Nodes& nodes, int64_t i, const Gpt2Stream& in,
                               Gpt2Saved* saved) const {
  const bool keep = saved != nullptr && recompute_ != Recompute::kBlock;
  const Gpt2Saved made = until_activation(nodes, i, in, keep);
  if (saved != nullptr) *saved = made;
  const bool last = i + 1 == sizes_.layers;
  return residual(nodes, "F3", made.a, parameters_.layer(i).down, made.middle.x,
                  last ? parameters_.final_norm() : *parameters_.layer(i + 1).norm_1);
}

Gpt2Saved Gpt2Blocks::until_activation(Nodes& nodes, int64_t i, const Gpt2Stream& in,
                                       bool keep) const {
  const Gpt2Layer& layer = parameters_.layer(i);
  const int64_t h = sizes_.hidden;
  Gpt2Saved saved;
  saved.in = in;
  qkv(nodes, i, saved);
  saved.y = activation("y", h);
  saved.lse = activation("lse", DType::kFp32, sizes_.heads, sizes_.tokens());
  attention(nodes, {columns_of(saved.qkv, 0, h), columns_of(saved.qkv, h, h),
                    columns_of(saved.qkv, 2 * h, h), saved.y, saved.lse});
  saved.middle = residual(nodes, "F1", saved.y, layer.attended, in.x, *layer.norm_2);
  up(nodes, i, saved, keep);
  return saved;
}

TensorView Gpt2Blocks::shifts(Nodes& nodes, const char* label, const Parameter& norm,
                              const Gpt2Linear& linear) const {
  const TensorView out =
      activation("shift, offset", DType::kFp32, norm.rows, linear.matrix->columns);
  add(nodes, label, "linear", fp32_variant(), operand(norm.weight),
      operand(transpose(linear.matrix->weight)), {port("out", out)});
  return out;
}

std::vector<Argument> Gpt2Blocks::norm_arguments(const TensorView& moments) const {
  const auto width = static_cast<double>(sizes_.hidden);
  return {port("mean", moments), number("mean.width", width), port("rstd", moments),
          number("rstd.width", width), number("rstd.epsilon", sizes_.epsilon)};
}

std::vector<Argument> Gpt2Blocks::shift_arguments(const TensorView& shifts,
                                                  const Gpt2Linear& linear) const {
  return {port("shift", rows_of(shifts, 0, 1)), port("offset", rows_of(shifts, 1, 1)),
          port("bias", linear.bias->weight)};
}

void Gpt2Blocks::qkv(Nodes& nodes, int64_t i, Gpt2Saved& saved) const {
  const Gpt2Layer& layer = parameters_.layer(i);
  saved.qkv_shifts = shifts(nodes, "F4", *layer.norm_1, layer.qkv);
  saved.qkv = activation("q, k, v", 3 * sizes_.hidden);
  std::vector<Argument> arguments = norm_arguments(saved.in.moments);
  append(arguments, shift_arguments(saved.qkv_shifts, layer.qkv));
  append(arguments, {number("activation", static_cast<double>(Activation::kIdentity)),
                     port("out", saved.qkv)});
  add(nodes, "F4", "linear_activation", type_name_, operand(saved.in.scaled),
      operand(transpose(layer.qkv.matrix->weight)), std::move(arguments));
}

void Gpt2Blocks::up(Nodes& nodes, int64_t i, Gpt2Saved& saved, bool keep) const {
  const Gpt2Layer& layer = parameters_.layer(i);
  saved.up_shifts = shifts(nodes, "F2", *layer.norm_2, layer.up);
  saved.a = activation("a", sizes_.ffn);
  std::vector<Argument> arguments = norm_arguments(saved.middle.moments);
  append(arguments, shift_arguments(saved.up_shifts, layer.up));
  append(arguments, {activation_, port("out", saved.a)});
  if (keep) {
    saved.before = activation("before the activation", sizes_.ffn);
    arguments.push_back(port("before", saved.before));
  }
  add(nodes, "F2", "linear_activation", type_name_, operand(saved.middle.scaled),
      operand(transpose(layer.up.matrix->weight)), std::move(arguments));
}

Gpt2Stream Gpt2Blocks::residual(Nodes& nodes, const char* label, const TensorView& a,
                                const Gpt2Linear& linear, const TensorView& residual,
                                const Parameter& next_norm) const {
  const Gpt2Stream out = stream(label[1] == '1' ? "x1" : "x2");
  add(nodes, label, "linear_residual_layer_norm", "kept-" + type_name_, operand(a),
      operand(transpose(linear.matrix->weight)),
      {port("residual", residual), port("bias", linear.bias->weight),
       port("gamma", gamma_of(next_norm.weight)), port("out", out.x), port("scaled", out.scaled),
       port("moments", out.moments)});
  return out;
}

}  // namespace coda::block
