// Gradients through a GPT-2 block.
#include "coda/block/gpt2_block.h"

namespace coda::block {

TensorView Gpt2Blocks::backward(Nodes& nodes, int64_t i, const Gpt2Saved& before,
                                const TensorView& dx2, bool accumulate) const {
  const Gpt2Layer& layer = parameters_.layer(i);
  const int64_t h = sizes_.hidden;
  const Gpt2Saved saved =
      recompute_ == Recompute::kBlock ? until_activation(nodes, i, before.in, true) : before;

  const TensorView dz = saved.before;  // in place: nobody reads it again
  const Sums up_sums = sums("the activation", sizes_.ffn);
  const TensorView dbias = column_sums("dbias", sizes_.ffn);
  TensorView a = saved.a;
  std::vector<Argument> arguments = shift_arguments(saved.up_shifts, layer.up);  // B3
  append(arguments,
         {port("before", saved.before), activation_, port("dz", dz), port("dots", up_sums.dots),
          port("shifts", up_sums.shifts), port("dbias", dbias)});
  if (recompute_ == Recompute::kActivation) {
    a = activation("a again", sizes_.ffn);
    arguments.push_back(port("out", a));
  }
  add(nodes, "B3", "linear_activation_backward", type_name_, operand(dx2),
      operand(layer.down.matrix->weight), std::move(arguments));
  finish_gradient(nodes, dbias, layer.up.bias->gradient, accumulate);
  linear_grad(nodes, "B4", a, dx2, *layer.down.matrix, accumulate);

  const TensorView dx1 = norm_backward(nodes, "B5", dz, up_sums, layer.up, *layer.norm_2,
                                       saved.middle, dx2, layer.attended.bias, accumulate);

  const TensorView dy = activation("dy", h);
  add(nodes, "B7", "linear", type_name_, operand(dx1), operand(layer.attended.matrix->weight),
      {port("out", dy)});
  linear_grad(nodes, "B7", saved.y, dx1, *layer.attended.matrix, accumulate);

  const TensorView dqkv = activation("dq, dk, dv", 3 * h);
  const auto part = [&](const TensorView& of, int64_t n) { return columns_of(of, n * h, h); };
  attention_backward(nodes, {part(saved.qkv, 0), part(saved.qkv, 1), part(saved.qkv, 2), saved.y,
                             saved.lse, dy, part(dqkv, 0), part(dqkv, 1), part(dqkv, 2)});
  const Sums qkv_sums = sums("q, k, v", 3 * h);
  const TensorView dqkv_bias = column_sums("dbias", 3 * h);
  arguments = shift_arguments(saved.qkv_shifts, layer.qkv);  // B0
  append(arguments, {port("dz", dqkv), port("z", saved.qkv), port("dots", qkv_sums.dots),
                     port("shifts", qkv_sums.shifts), port("dbias", dqkv_bias)});
  add_rows(nodes, "B0", "layer_norm_sums", std::move(arguments));
  finish_gradient(nodes, dqkv_bias, layer.qkv.bias->gradient, accumulate);
  return norm_backward(nodes, "B1", dqkv, qkv_sums, layer.qkv, *layer.norm_1, saved.in, dx1,
                       i > 0 ? parameters_.layer(i - 1).down.bias : nullptr, accumulate);
}

Gpt2Blocks::Sums Gpt2Blocks::sums(const char* of, int64_t columns) const {
  return {row_sums(std::string("dots of ") + of, columns),
          row_sums(std::string("shifts of ") + of, columns)};
}

// Through a linear and the norm before it, onto the stream; the linear's gradient by its weight.
// bias_before: of the linear that wrote the stream, if one did; its sums cost next to nothing.
TensorView Gpt2Blocks::norm_backward(Nodes& nodes, const char* label, const TensorView& dz,
                                     const Sums& sums, const Gpt2Linear& linear,
                                     const Parameter& norm, const Gpt2Stream& stream,
                                     const TensorView& dx_in, const Parameter* bias_before,
                                     bool accumulate) const {
  const int64_t h = sizes_.hidden;
  const auto width = static_cast<double>(h);
  const TensorView dx = activation("dx", h), normed = activation("normed", h);
  const TensorView dgamma = column_sums("dγ", h), dbeta = column_sums("dβ", h),
                   dbias = column_sums("dbias", h);
  std::vector<Argument> arguments = norm_arguments(stream.moments);
  append(arguments,
         {port("x", stream.x), port("dx_in", dx_in), port("gamma", gamma_of(norm.weight)),
          port("beta", beta_of(norm.weight)), port("dots", sums.dots), number("dots.width", width),
          port("shifts", sums.shifts), number("shifts.width", width), port("dx", dx),
          port("normed", normed), port("dgamma", dgamma), port("dbeta", dbeta),
          port("dcolumns", dbias)});
  add(nodes, label, "linear_layer_norm_backward", "kept-" + type_name_, operand(dz),
      operand(linear.matrix->weight), std::move(arguments));
  finish_gradient(nodes, dgamma, gamma_of(norm.gradient), accumulate);
  finish_gradient(nodes, dbeta, beta_of(norm.gradient), accumulate);
  if (bias_before != nullptr) finish_gradient(nodes, dbias, bias_before->gradient, accumulate);
  linear_grad(nodes, label[1] == '1' ? "B2" : "B6", normed, dz, *linear.matrix, accumulate);
  return dx;
}

// [in, out] = xᵀ·dz
void Gpt2Blocks::linear_grad(Nodes& nodes, const char* label, const TensorView& x,
                             const TensorView& dz, const Parameter& weight, bool accumulate) const {
  weight_grad(nodes, label, operand(transpose(x)), operand(transpose(dz)), weight, accumulate);
}

}  // namespace coda::block
