#include "coda/block/gpt2_lists.h"

namespace coda::block {

Gpt2Lists::Gpt2Lists(const Sizes& sizes, const ModelOptions& options,
                     const Gpt2Parameters& parameters, const Inputs& inputs, MemoryPlan& plan)
    : ModelLists(sizes, options, parameters, inputs, plan),
      parameters_(parameters),
      blocks_(*this, parameters) {}

Nodes Gpt2Lists::evaluation() {
  Nodes nodes;
  Gpt2Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) stream = blocks_.forward(nodes, i, stream, nullptr);
  const TensorView normed = last_norm(nodes, stream.x);
  nodes.push_back({"F5 linear_cross_entropy", head(normed, 0)});
  return nodes;
}

Nodes Gpt2Lists::training(int64_t part) {
  const bool accumulate = part > 0;  // gradients, to those of the parts before
  Nodes nodes;
  std::vector<Gpt2Saved> saved(static_cast<size_t>(sizes_.layers));
  Gpt2Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    stream = blocks_.forward(nodes, i, stream, &saved[static_cast<size_t>(i)]);
  }
  const TensorView normed = last_norm(nodes, stream.x);
  const HeadNode last = head_with_gradients(normed, part, accumulate);
  nodes.push_back({"F5, B8 linear_cross_entropy", last});
  TensorView dx = last_norm_backward(nodes, stream.x, last.dx, accumulate);
  for (int64_t i = sizes_.layers - 1; i >= 0; --i) {
    dx = blocks_.backward(nodes, i, saved[static_cast<size_t>(i)], dx, accumulate);
  }
  // A tied table's gradient: what the head left comes first.
  embedding_backward(nodes, dx, inputs_.tokens, parameters_.embedding(), accumulate || sizes_.tied);
  embedding_backward(nodes, dx, inputs_.positions, parameters_.positions(), accumulate);
  return nodes;
}

Gpt2Stream Gpt2Lists::embed(Nodes& nodes) const {
  const Gpt2Stream stream = blocks_.stream("x0");
  add_rows(nodes, "F0", "embedding_positions",
           {port("table", parameters_.embedding().weight), port("tokens", inputs_.tokens),
            port("positions_table", parameters_.positions().weight),
            port("positions", inputs_.positions), port("out", stream.x)});
  add_rows(nodes, "F0", "layer_norm_inputs",
           {port("x", stream.x), port("gamma", gamma_of(parameters_.layer(0).norm_1->weight)),
            port("scaled", stream.scaled), port("moments", stream.moments)});
  return stream;
}

TensorView Gpt2Lists::last_norm(Nodes& nodes, const TensorView& x) const {
  const TensorView normed = activation("normed", sizes_.hidden);
  const TensorView& norm = parameters_.final_norm().weight;
  add_rows(nodes, "F5", "layer_norm",
           {port("x", x), port("gamma", gamma_of(norm)), port("beta", beta_of(norm)),
            number("epsilon", sizes_.epsilon), port("out", normed)});
  return normed;
}

TensorView Gpt2Lists::last_norm_backward(Nodes& nodes, const TensorView& x, const TensorView& dy,
                                         bool accumulate) const {
  const int64_t h = sizes_.hidden;
  const Parameter& norm = parameters_.final_norm();
  const TensorView dx = activation("dx", h);
  const TensorView dgamma = column_sums("dγ", h), dbeta = column_sums("dβ", h),
                   dbias = column_sums("dbias", h);
  add_rows(nodes, "B8", "layer_norm_backward",
           {port("dy", dy), port("x", x), port("gamma", gamma_of(norm.weight)),
            number("epsilon", sizes_.epsilon), port("dx", dx), port("dgamma", dgamma),
            port("dbeta", dbeta), port("dcolumns", dbias)});
  finish_gradient(nodes, dgamma, gamma_of(norm.gradient), accumulate);
  finish_gradient(nodes, dbeta, beta_of(norm.gradient), accumulate);
  const Parameter& bias = *parameters_.layer(sizes_.layers - 1).down.bias;  // of what wrote x
  finish_gradient(nodes, dbias, bias.gradient, accumulate);
  return dx;
}

}  // namespace coda::block
