#pragma once
#include "coda/block/gpt2_block.h"
#include "coda/block/model_lists.h"

namespace coda::block {

class Gpt2Lists final : public ModelLists {
 public:
  Gpt2Lists(const Sizes& sizes, const ModelOptions& options, const Gpt2Parameters& parameters,
            const Inputs& inputs, MemoryPlan& plan);

  Nodes training(int64_t part) override;
  Nodes evaluation() override;

 private:
  Gpt2Stream embed(Nodes& nodes) const;
  TensorView last_norm(Nodes& nodes, const TensorView& x) const;  // [M, h], normalised
  // dy: by what last_norm() gave; returns the gradient by x.
  TensorView last_norm_backward(Nodes& nodes, const TensorView& x, const TensorView& dy,
                                bool accumulate) const;

  const Gpt2Parameters& parameters_;
  Gpt2Blocks blocks_;
};

}  // namespace coda::block
