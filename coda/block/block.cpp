#include "coda/block/block.h"

namespace coda::block {

BlockLists::BlockLists(const ListMaker& maker, const LlamaParameters& parameters,
                       const Constants& constants)
    : ListMaker(maker), parameters_(parameters), constants_(constants) {}

Stream BlockLists::stream(const std::string& name, bool scaled) {
  Stream result;
  result.x = activation(name, sizes_.hidden);
  if (scaled) result.scaled = activation(name + " scaled", sizes_.hidden);
  result.squares = row_sums(name + " squares", sizes_.hidden);
  return result;
}

std::vector<Argument> BlockLists::row_factor(const TensorView& squares) const {
  return {port("rstd", squares), number("rstd.width", static_cast<double>(sizes_.hidden)),
          number("rstd.epsilon", sizes_.epsilon)};
}

Stream BlockLists::forward(Nodes& nodes, int64_t i, const Stream& in, Saved* saved) {
  const bool keep = saved != nullptr && recompute_ != Recompute::kBlock;
  const Saved made = until_swiglu(nodes, i, in, keep);
  const LayerParameters& layer = parameters_.layer(i);
  const bool last = i + 1 == sizes_.layers;
  const Parameter* next = &parameters_.final_norm();  // which no matrix has folded in
  if (!last) {
    const LayerParameters& after = parameters_.layer(i + 1);
    next = kept(*after.qkv) ? after.input_norm : nullptr;
  }
  if (saved != nullptr) *saved = made;
  return residual_norm(nodes, "F3", made.a, *layer.down, made.middle.x, next);
}

Saved BlockLists::until_swiglu(Nodes& nodes, int64_t i, const Stream& in, bool keep) {
  const LayerParameters& layer = parameters_.layer(i);
  Saved saved;
  saved.in = in;
  rope(nodes, i, saved);
  saved.y = activation("y", sizes_.attended());
  saved.lse = activation("lse", DType::kFp32, sizes_.heads, sizes_.tokens());
  attention(nodes, {saved.q, saved.k, saved.v, saved.y, saved.lse});
  saved.middle = residual_norm(nodes, "F1", saved.y, *layer.o, in.x,
                               kept(*layer.gate_up) ? layer.post_norm : nullptr);
  swiglu(nodes, i, saved, keep);
  return saved;
}

void BlockLists::rope(Nodes& nodes, int64_t i, Saved& saved) {
  const LayerParameters& layer = parameters_.layer(i);
  saved.q = activation("q", sizes_.attended());
  saved.k = activation("k", sizes_.kv());
  saved.v = activation("v", sizes_.kv());
  std::vector<Argument> arguments = row_factor(saved.in.squares);
  append(arguments, {port("positions", constants_.positions),
                     port("inv_freq", constants_.inv_freq),
                     {"out", {saved.q, saved.k, saved.v}}});
  if (layer.q_bias != nullptr) {
    arguments.push_back(
        {"bias", {layer.q_bias->weight, layer.k_bias->weight, layer.v_bias->weight}});
  }
  if (layer.q_norm != nullptr) {
    saved.zq = activation("q before its norm", sizes_.attended());
    saved.zk = activation("k before its norm", sizes_.kv());
    saved.zv = activation("v again", sizes_.kv());
    append(arguments, {port("q_norm", layer.q_norm->weight),
                       port("k_norm", layer.k_norm->weight),
                       number("norm_epsilon", sizes_.epsilon),
                       {"z", {saved.zq, saved.zk, saved.zv}}});
  }
  const Parameter& qkv = *layer.qkv;
  add(nodes, "F4", "linear_rope", type_name_ + (layer.q_norm != nullptr ? "-norm" : ""),
      operand(saved.in.multiplied()), halves_of(sizes_.head_dim, qkv.multiplied_parts()),
      std::move(arguments));
}

Stream BlockLists::residual_norm(Nodes& nodes, const char* label, const TensorView& a,
                                 const Parameter& weight, const TensorView& residual,
                                 const Parameter* kept_norm) {
  const bool keeps = kept_norm != nullptr;
  const Stream out = stream(label[1] == '1' ? "x1" : "x2", keeps);
  std::vector<Argument> arguments = {port("residual", residual), port("out", out.x),
                                     port("squares", out.squares)};
  if (keeps) append(arguments, {port("gamma", kept_norm->weight), port("scaled", out.scaled)});
  add(nodes, label, "linear_residual_norm", (keeps ? "kept-" : "folded-") + type_name_, operand(a),
      operand(weight.weight), std::move(arguments));
  return out;
}

void BlockLists::swiglu(Nodes& nodes, int64_t i, Saved& saved, bool keep) {
  const Parameter& gate_up = *parameters_.layer(i).gate_up;
  saved.a = activation("a", sizes_.ffn);
  std::vector<Argument> arguments = row_factor(saved.middle.squares);
  arguments.push_back(port("out", saved.a));
  if (keep) {
    saved.gate = activation("gate", sizes_.ffn);
    saved.up = activation("up", sizes_.ffn);
    append(arguments, {port("gate", saved.gate), port("up", saved.up)});
  }
  const std::vector<TensorView> w = gate_up.multiplied_parts();
  add(nodes, "F2", "linear_swiglu", type_name_, operand(saved.middle.multiplied()),
      pair_of(w[0], w[1]), std::move(arguments));
}

}  // namespace coda::block
