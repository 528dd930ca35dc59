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
  if (sizes.gpt2) {
    if (options.fold != Fold::kFolded) return false;
    throw Error(
        "model: 'fold': expected rule or kept for GPT-2, whose norms have a bias, got folded");
  }
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
  if (!sizes.gpt2) inputs.inv_freq = input("inv_freq", DType::kFp32, sizes.head_dim / 2);
  return inputs;
}

ModelLists::ModelLists(const Sizes& sizes, const ModelOptions& options,
                       const Parameters& parameters, const Inputs& inputs, MemoryPlan& plan)
    : ListMaker(sizes, options.type, options.recompute, plan),
      inputs_(inputs),
      options_(options),
      parameters_(parameters) {}

HeadNode ModelLists::head(const TensorView& x, int64_t part) const {
  HeadNode head;
  head.x = x;
  head.weight = parameters_.head().weight;
  head.targets = inputs_.targets;
  head.loss = inputs_.losses;
  head.loss.data = static_cast<const float*>(inputs_.losses.data) + part;
  head.loss.columns = 1;
  head.lse = activation("lse of the logits", DType::kFp32, 1, sizes_.tokens());
  return head;
}

HeadNode ModelLists::head_with_gradients(const TensorView& x, int64_t part, bool accumulate) const {
  HeadNode result = head(x, part);
  result.with_gradients = true;
  result.chunk_rows = head_rows(sizes_);
  result.add_to_dweight = accumulate;
  result.dloss = inputs_.dloss;
  result.dweight = parameters_.head().gradient;
  result.dx = activation("dx of the head", sizes_.hidden);
  return result;
}

// The weight gradients' epilogues could leave Σ dW² too; reading the gradients once more costs less
// (H200, LLaMA 1B, 16384 tokens: 4 ms of 285 in the epilogues, 1.2 ms here).
Nodes ModelLists::update() const {
  Nodes nodes;
  for (const Parameter& parameter : parameters_.all()) {
    add(nodes, "U1", "square_sums", "fp32", {}, {},
        {port("x", parameter.gradient), port("sums", parameter.squares)});
  }
  std::vector<Argument> arguments = {port("squares", parameters_.squares()),
                                     port("norm", inputs_.norm), port("factor", inputs_.clip)};
  if (options_.max_norm > 0) arguments.push_back(number("max_norm", options_.max_norm));
  add(nodes, "U2", "clip_factor", "fp32", {}, {}, std::move(arguments));
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
  add(nodes, "U3", "adamw", type_name_, {}, {}, std::move(arguments));
}

Nodes ModelLists::fold() const {
  Nodes nodes;
  for (const Parameter& parameter : parameters_.all()) {
    if (parameter.folded_norm == nullptr) continue;
    add(nodes, "U4", "fold_norm_weight", type_name_, {}, {},
        {port("weight", parameter.weight), port("gamma", parameter.folded_norm->weight),
         port("out", parameter.folded)});
  }
  return nodes;
}

}  // namespace coda::block
