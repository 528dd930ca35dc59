// Gradients through a block: B0 to B7.
#include "coda/block/block.h"

namespace coda::block {
namespace {

std::vector<TensorView> transposed(std::vector<TensorView> views) {
  for (TensorView& view : views) view = transpose(view);
  return views;
}

}  // namespace

TensorView BlockLists::backward(Nodes& nodes, int64_t i, const Saved& before, const TensorView& dx2,
                                bool accumulate) {
  const LayerParameters& layer = parameters_.layer(i);
  const Saved saved =
      recompute_ == Recompute::kBlock ? until_swiglu(nodes, i, before.in, true) : before;
  const TensorView dgate = saved.gate, dup = saved.up;  // in place: nobody reads these again
  const TensorView dots = row_sums("dots of gate, up", sizes_.ffn);
  TensorView a = saved.a;
  std::vector<Argument> arguments = row_factor(saved.middle.squares);  // B3
  append(arguments, {port("gate", saved.gate), port("up", saved.up), port("dgate", dgate),
                     port("dup", dup), port("dots", dots)});
  if (recompute_ == Recompute::kActivation) {
    a = activation("a again", sizes_.ffn);
    arguments.push_back(port("out", a));
  }
  add(nodes, "B3", "linear_swiglu_backward", type_name_, operand(dx2),
      operand(transpose(layer.down->weight)), std::move(arguments));
  weight_grad(nodes, "B4", {dx2}, a, *layer.down, accumulate);

  TensorView scaled = saved.middle.multiplied();
  const TensorView dx1 = norm_backward(nodes, "B5", {dgate, dup}, *layer.gate_up, *layer.post_norm,
                                       saved.middle, dx2, dots, scaled, accumulate);
  weight_grad(nodes, "B6", {dgate, dup}, scaled, *layer.gate_up, accumulate);

  const TensorView dy = activation("dy", sizes_.attended());
  add(nodes, "B7", "linear", type_name_, operand(dx1), operand(transpose(layer.o->weight)),
      {port("out", dy)});
  weight_grad(nodes, "B7", {dx1}, saved.y, *layer.o, accumulate);

  std::vector<TensorView> dz;
  const TensorView head_dots = rope_backward(nodes, i, saved, dy, dz, accumulate);
  scaled = saved.in.multiplied();
  const TensorView dx = norm_backward(nodes, "B1", dz, *layer.qkv, *layer.input_norm, saved.in, dx1,
                                      head_dots, scaled, accumulate);
  weight_grad(nodes, "B2", dz, scaled, *layer.qkv, accumulate);
  return dx;
}

TensorView BlockLists::rope_backward(Nodes& nodes, int64_t i, const Saved& saved,
                                     const TensorView& dy, std::vector<TensorView>& dz,
                                     bool accumulate) {
  const LayerParameters& layer = parameters_.layer(i);
  const TensorView dq = activation("dq", sizes_.attended()), dk = activation("dk", sizes_.kv()),
                   dv = activation("dv", sizes_.kv());
  attention_backward(nodes, {saved.q, saved.k, saved.v, saved.y, saved.lse, dy, dq, dk, dv});
  const TensorView sums = activation("dots of q, k, v", DType::kFp32,
                                     sizes_.heads + 2 * sizes_.kv_heads, sizes_.tokens());
  const bool normed = layer.q_norm != nullptr;
  std::vector<Argument> arguments = row_factor(saved.in.squares);
  append(arguments, {port("q", normed ? saved.zq : saved.q), port("k", normed ? saved.zk : saved.k),
                     port("v", saved.v), port("dq", dq), port("dk", dk), port("dv", dv),
                     port("inv_freq", constants_.inv_freq), port("positions", constants_.positions),
                     port("dzq", dq), port("dzk", dk), port("dzv", dv), port("sums", sums),
                     number("head_dim", static_cast<double>(sizes_.head_dim))});
  struct Partials {
    const char* name;
    const Parameter* parameter;
    TensorView sums;  // [⌈M/64⌉, H·d]
  };
  std::vector<Partials> sums_of;
  const auto ask = [&](const char* name, const Parameter* parameter, int64_t columns) {
    sums_of.push_back({name, parameter, column_sums(name, columns)});
    arguments.push_back(port(name, sums_of.back().sums));
  };
  if (layer.q_bias != nullptr) {
    append(arguments, {port("bias_q", layer.q_bias->weight), port("bias_k", layer.k_bias->weight),
                       port("bias_v", layer.v_bias->weight)});
    ask("dbias_q", layer.q_bias, sizes_.attended());
    ask("dbias_k", layer.k_bias, sizes_.kv());
    ask("dbias_v", layer.v_bias, sizes_.kv());
  }
  if (normed) {
    append(arguments, {port("q_norm", layer.q_norm->weight), port("k_norm", layer.k_norm->weight),
                       number("norm_epsilon", sizes_.epsilon)});
    ask("dq_norm", layer.q_norm, sizes_.attended());
    ask("dk_norm", layer.k_norm, sizes_.kv());
  }
  add(nodes, "B0", "rope_backward", type_name_, {}, {}, std::move(arguments));
  for (const Partials& part : sums_of) {
    TensorView view = part.sums;  // a head's norm: its heads stand one after another
    view.rows = view.rows * view.columns / part.parameter->columns;
    view.columns = view.ld = part.parameter->columns;
    finish_gradient(nodes, view, part.parameter->gradient, accumulate);
  }
  dz = {dq, dk, dv};
  return sums;
}

// scaled: comes as what the forward left of x⊙γ, and goes as where it is after this.
TensorView BlockLists::norm_backward(Nodes& nodes, const char* label,
                                     const std::vector<TensorView>& dz, const Parameter& weight,
                                     const Parameter& norm, const Stream& stream,
                                     const TensorView& dx_in, const TensorView& dots,
                                     TensorView& scaled, bool accumulate) {
  const TensorView dx = activation("dx", sizes_.hidden);
  std::vector<Argument> arguments = row_factor(stream.squares);
  append(arguments, {port("x", stream.x), port("dx_in", dx_in), port("dots", dots),
                     number("dots.width", static_cast<double>(sizes_.hidden)), port("dx", dx)});
  TensorView dgamma;
  if (kept(weight)) {
    dgamma = column_sums("dγ", sizes_.hidden);
    append(arguments, {port("gamma", norm.weight), port("dgamma", dgamma)});
    if (recompute_ == Recompute::kActivation) {
      scaled = activation("scaled again", sizes_.hidden);
      arguments.push_back(port("scaled", scaled));
    }
  }
  add(nodes, label, "linear_norm_backward", (kept(weight) ? "kept-" : "folded-") + type_name_,
      operand(Cut::kContraction, dz),
      operand(Cut::kContraction, transposed(weight.multiplied_parts())), std::move(arguments));
  if (kept(weight)) finish_gradient(nodes, dgamma, norm.gradient, accumulate);
  return dx;
}

void BlockLists::weight_grad(Nodes& nodes, const char* label, const std::vector<TensorView>& dz,
                             const TensorView& x, const Parameter& weight, bool accumulate) {
  const OperandView a = operand(Cut::kRows, transposed(dz)), b = operand(transpose(x));
  if (kept(weight)) return ListMaker::weight_grad(nodes, label, a, b, weight, accumulate);
  const TensorView dgamma =
      activation("dγ partials", DType::kFp32, weight.row_parts(), weight.columns);
  std::vector<Argument> arguments = weight_grad_arguments(weight, accumulate);
  append(arguments, {port("weight", weight.weight), port("gamma", weight.folded_norm->weight),
                     port("dgamma", dgamma)});
  add(nodes, label, "linear_weight_grad", "folded-" + fp32_variant(), a, b, std::move(arguments));
  finish_gradient(nodes, dgamma, weight.folded_norm->gradient, accumulate);
}

}  // namespace coda::block
