// The lists that a model runs: training on one part of a batch, evaluation, the weight update.
#pragma once
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

// What the architectures share; theirs say what a step computes.
class ModelLists : public ListMaker {
 public:
  virtual ~ModelLists() = default;
  virtual Nodes training(int64_t part) = 0;
  virtual Nodes evaluation() = 0;
  Nodes update() const;
  Nodes fold() const;  // W' from W and γ

 protected:
  ModelLists(const Sizes& sizes, const ModelOptions& options, const Parameters& parameters,
             const Inputs& inputs, MemoryPlan& plan);

  HeadNode head(const TensorView& x, int64_t part) const;
  HeadNode head_with_gradients(const TensorView& x, int64_t part, bool accumulate) const;

  const Inputs& inputs_;

 private:
  void adamw(Nodes& nodes, const Parameter& parameter) const;

  const ModelOptions& options_;
  const Parameters& parameters_;
};

}  // namespace coda::block
