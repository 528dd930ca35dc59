#include "coda/block/model_lists.h"

#include <algorithm>

namespace coda::block {
namespace {

// Rows whose logits exist at a time: up to 2²⁹ of them, whole partial sums of rows.
int64_t head_rows(const Sizes& sizes) {
  constexpr int64_t kRows = kPartialWidth;
  const int64_t fit = (int64_t{1} << 29) / sizes.vocab / kRows * kRows;
  return std::clamp(fit, kRows, std::max(sizes.tokens(), kRows));
}

// What a byte of W costs in the epilogue of its gradient, where a byte of x⊙γ costs 1. H200, 16384
// tokens, h = 4096: backward takes 4 % longer with folded norms, although the bytes are as many.
constexpr int64_t kCostOfReadingWeights = 4;

}  // namespace

bool folds(const Sizes& sizes, const ModelOptions& options) {
  if (options.fold != Fold::kByRule) return options.fold == Fold::kFolded;
  const int64_t rows = sizes.attended() + 2 * sizes.kv() + 2 * sizes.ffn;
  const int64_t norms = 2;
  const int64_t kept = norms * 2 * sizes.tokens() * options.parts;
  const int64_t folded = rows * (1 + kCostOfReadingWeights * options.parts);
  return folded < kept;
}

Inputs declare_inputs(const Sizes& sizes, int64_t parts, MemoryPlan& plan) {
  const auto input = [&](const char* name, DType type, int64_t count) {
    return plan.declare(name, Use::kInputs, type, 1, count);
  };
  Inputs inputs;
  inputs.tokens = input("tokens", DType::kInt64, sizes.tokens());
  inputs.targets = input("targets", DType::kInt64, sizes.tokens());
  inputs.losses = input("losses", DType::kFp32, parts);
  inputs.dloss = input("gradient of the loss", DType::kFp32, 1);
  inputs.rates = input("rates", DType::kFp32, 3);
  inputs.norm = input("norm of the gradients", DType::kFp32, 1);
  inputs.clip = input("clip factor", DType::kFp32, 1);
  inputs.positions = input("positions", DType::kInt64, sizes.tokens());
  inputs.inv_freq = input("inv_freq", DType::kFp32, sizes.head_dim / 2);
  return inputs;
}

ModelLists::ModelLists(const Sizes& sizes, const ModelOptions& options,
                       const Parameters& parameters, const Inputs& inputs, MemoryPlan& plan)
    : sizes_(sizes),
      options_(options),
      parameters_(parameters),
      inputs_(inputs),
      blocks_(sizes, options.type, options.recompute, parameters,
              {inputs.positions, inputs.inv_freq}, plan) {}

Nodes ModelLists::evaluation() {
  Nodes nodes;
  Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) stream = blocks_.forward(nodes, i, stream, nullptr);
  nodes.push_back({"F5 linear_cross_entropy", head(stream, 0)});
  return nodes;
}

Nodes ModelLists::training(int64_t part) {
  const bool accumulate = part > 0;  // gradients, to those of the parts before
  Nodes nodes;
  std::vector<Saved> saved(static_cast<size_t>(sizes_.layers));
  Stream stream = embed(nodes);
  for (int64_t i = 0; i < sizes_.layers; ++i) {
    stream = blocks_.forward(nodes, i, stream, &saved[static_cast<size_t>(i)]);
  }
  const HeadNode last = head_with_gradients(stream, part, accumulate);
  nodes.push_back({"F5, B8 linear_cross_entropy", last});
  blocks_.finish_gradient(nodes, last.dgamma, parameters_.final_norm(), accumulate);

  TensorView dx = last.dx;
  for (int64_t i = sizes_.layers - 1; i >= 0; --i) {
    dx = blocks_.backward(nodes, i, saved[static_cast<size_t>(i)], dx, accumulate);
  }
  // A tied table's gradient: what the head left comes first.
  blocks_.add(nodes, "B9", "embedding_backward",
              options_.type == DType::kFp32 ? "fp32" : blocks_.type_name() + "-fp32", {}, {},
              {port("dx", dx), port("tokens", inputs_.tokens),
               port("out", parameters_.embedding().gradient),
               number("accumulate", accumulate || sizes_.tied ? 1 : 0)});
  return nodes;
}

Stream ModelLists::embed(Nodes& nodes) {
  const LayerParameters& first = parameters_.layer(0);
  const Stream stream = blocks_.stream("x0", blocks_.kept(*first.qkv));
  std::vector<Argument> arguments = {port("table", parameters_.embedding().weight),
                                     port("tokens", inputs_.tokens), port("out", stream.x),
                                     port("squares", stream.squares)};
  if (stream.scaled.data != nullptr) {
    append(arguments, {port("gamma", first.input_norm->weight), port("scaled", stream.scaled)});
  }
  blocks_.add(nodes, "F0", "embedding_norm", blocks_.type_name(), {}, {}, std::move(arguments));
  return stream;
}

HeadNode ModelLists::head(const Stream& stream, int64_t part) {
  HeadNode head;
  head.scaled = stream.scaled;
  head.squares = stream.squares;
  head.weight = parameters_.head().weight;
  head.targets = inputs_.targets;
  head.loss = inputs_.losses;
  head.loss.data = static_cast<const float*>(inputs_.losses.data) + part;
  head.loss.columns = 1;
  head.lse = blocks_.activation("lse of the logits", DType::kFp32, 1, sizes_.tokens());
  head.epsilon = sizes_.epsilon;
  return head;
}

HeadNode ModelLists::head_with_gradients(const Stream& stream, int64_t part, bool accumulate) {
  HeadNode result = head(stream, part);
  result.with_gradients = true;
  result.chunk_rows = head_rows(sizes_);
  result.add_to_dweight = accumulate;
  result.dloss = inputs_.dloss;
  result.x = stream.x;
  result.gamma = parameters_.final_norm().weight;
  result.dweight = parameters_.head().gradient;
  result.dx = blocks_.activation("dx of the head", sizes_.hidden);
  result.dots = blocks_.activation("dots of the logits", DType::kFp32, 1, sizes_.tokens());
  result.dgamma =
      blocks_.activation("dγ partials", DType::kFp32, partials(sizes_.tokens()), sizes_.hidden);
  return result;
}

// The weight gradients' epilogues could leave Σ dW² too; reading the gradients once more costs less
// (H200, LLaMA 1B, 16384 tokens: 4 ms of 285 in the epilogues, 1.2 ms here).
Nodes ModelLists::update() const {
  Nodes nodes;
  for (const Parameter& parameter : parameters_.all()) {
    blocks_.add(nodes, "U1", "square_sums", "fp32", {}, {},
                {port("x", parameter.gradient), port("sums", parameter.squares)});
  }
  std::vector<Argument> arguments = {port("squares", parameters_.squares()),
                                     port("norm", inputs_.norm), port("factor", inputs_.clip)};
  if (options_.max_norm > 0) arguments.push_back(number("max_norm", options_.max_norm));
  blocks_.add(nodes, "U2", "clip_factor", "fp32", {}, {}, std::move(arguments));
  for (const Parameter& parameter : parameters_.all()) {  // norms first: others fold them in
    if (parameter.role == Role::kNorm) adamw(nodes, parameter);
  }
  for (const Parameter& parameter : parameters_.all()) {
    if (parameter.role != Role::kNorm) adamw(nodes, parameter);
  }
  return nodes;
}

void ModelLists::adamw(Nodes& nodes, const Parameter& p) const {
  std::vector<Argument> arguments = {port("master", p.master),
                                     port("m", p.m),
                                     port("v", p.v),
                                     port("gradient", p.gradient),
                                     port("rates", inputs_.rates),
                                     port("clip", inputs_.clip),
                                     port("weight", p.weight),
                                     number("beta1", options_.beta1),
                                     number("beta2", options_.beta2),
                                     number("epsilon", options_.adam_epsilon),
                                     number("decay", p.decays() ? options_.decay : 0)};
  if (p.folded_norm != nullptr) {
    append(arguments, {port("gamma", p.folded_norm->weight), port("folded", p.folded)});
  }
  blocks_.add(nodes, "U3", "adamw", blocks_.type_name(), {}, {}, std::move(arguments));
}

Nodes ModelLists::fold() const {
  Nodes nodes;
  for (const Parameter& parameter : parameters_.all()) {
    if (parameter.folded_norm == nullptr) continue;
    blocks_.add(nodes, "U4", "fold_norm_weight", blocks_.type_name(), {}, {},
                {port("weight", parameter.weight), port("gamma", parameter.folded_norm->weight),
                 port("out", parameter.folded)});
  }
  return nodes;
}

}  // namespace coda::block
