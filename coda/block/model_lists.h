// The lists that a model runs: training on one part of a batch, evaluation, the weight update.
#pragma once
#include "coda/block/block.h"
#include "coda/block/model_options.h"

namespace coda::block {

// Tensors that stay while activations come and go.
struct Inputs {
  TensorView tokens, targets;  // [M], int64
  TensorView losses;           // [parts], fp32
  TensorView dloss;            // [1], fp32: 1 / parts
  TensorView rates;            // [3], fp32: as adamw takes them
  TensorView norm, clip;       // [1], fp32: of all gradients; the factor on them
  TensorView positions;        // [M], int64
  TensorView inv_freq;         // [d/2], fp32
};
Inputs declare_inputs(const Sizes& sizes, int64_t parts, MemoryPlan& plan);

class ModelLists {
 public:
  ModelLists(const Sizes& sizes, const ModelOptions& options, const Parameters& parameters,
             const Inputs& inputs, MemoryPlan& plan);

  Nodes training(int64_t part);
  Nodes evaluation();
  Nodes update() const;
  Nodes fold() const;  // W' from W and γ

 private:
  Stream embed(Nodes& nodes);
  HeadNode head(const Stream& stream, int64_t part);
  HeadNode head_with_gradients(const Stream& stream, int64_t part, bool accumulate);
  void adamw(Nodes& nodes, const Parameter& parameter) const;

  const Sizes& sizes_;
  const ModelOptions& options_;
  const Parameters& parameters_;
  const Inputs& inputs_;
  BlockLists blocks_;
};

}  // namespace coda::block
