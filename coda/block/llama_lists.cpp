#include "coda/block/llama_lists.h"

namespace coda::block {

LlamaLists::LlamaLists(const Sizes& sizes, const ModelOptions& options,
                       const LlamaParameters& parameters, const Inputs& inputs, MemoryPlan& plan)
    : ModelLists(sizes, options, parameters, inputs, plan),
      parameters_(parameters),
      blocks_(*this, parameters, {inputs.positions, inputs.inv_freq}) {}

Nodes LlamaLists::evaluation() {
  Nodes nodes;
  Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) stream = blocks_.forward(nodes, i, stream, nullptr);
  HeadNode last = head(stream.scaled, 0);
  last.norm = head_norm(stream);
  nodes.push_back({"F5 linear_cross_entropy", last});
  return nodes;
}

Nodes LlamaLists::training(int64_t part) {
  const bool accumulate = part > 0;  // gradients, to those of the parts before
  Nodes nodes;
  std::vector<Saved> saved(static_cast<size_t>(sizes_.layers));
  Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    stream = blocks_.forward(nodes, i, stream, &saved[static_cast<size_t>(i)]);
  }
  HeadNode last = head_with_gradients(stream.scaled, part, accumulate);
  last.norm = head_norm(stream);
  last.norm.dots = activation("dots of the logits", DType::kFp32, 1, sizes_.tokens());
  last.norm.dgamma = column_sums("dγ", sizes_.hidden);
  nodes.push_back({"F5, B8 linear_cross_entropy", last});
  finish_gradient(nodes, last.norm.dgamma, parameters_.final_norm().gradient, accumulate);

  TensorView dx = last.dx;
  for (int64_t i = sizes_.layers - 1; i >= 0; --i) {
    dx = blocks_.backward(nodes, i, saved[static_cast<size_t>(i)], dx, accumulate);
  }
  // A tied table's gradient: what the head left comes first.
  embedding_backward(nodes, dx, inputs_.tokens, parameters_.embedding(), accumulate || sizes_.tied);
  return nodes;
}

Stream LlamaLists::embed(Nodes& nodes) {
  const LayerParameters& first = parameters_.layer(0);
  const Stream stream = blocks_.stream("x0", blocks_.kept(*first.qkv));
  std::vector<Argument> arguments = {port("table", parameters_.embedding().weight),
                                     port("tokens", inputs_.tokens), port("out", stream.x),
                                     port("squares", stream.squares)};
  if (stream.scaled.data != nullptr) {
    append(arguments, {port("gamma", first.input_norm->weight), port("scaled", stream.scaled)});
  }
  add_rows(nodes, "F0", "embedding_norm", std::move(arguments));
  return stream;
}

HeadNode::Norm LlamaLists::head_norm(const Stream& stream) const {
  HeadNode::Norm norm;
  norm.squares = stream.squares;
  norm.epsilon = sizes_.epsilon;
  norm.stream = stream.x;
  norm.gamma = parameters_.final_norm().weight;
  return norm;
}

}  // namespace coda::block
