#pragma once
#include "coda/block/block.h"
#include "coda/block/model_lists.h"

namespace coda::block {

class LlamaLists final : public ModelLists {
 public:
  LlamaLists(const Sizes& sizes, const ModelOptions& options, const LlamaParameters& parameters,
             const Inputs& inputs, MemoryPlan& plan);

  Nodes training(int64_t part) override;
  Nodes evaluation() override;

 private:
  Stream embed(Nodes& nodes);
  HeadNode::Norm head_norm(const Stream& stream) const;

  const LlamaParameters& parameters_;
  BlockLists blocks_;
};

}  // namespace coda::block
