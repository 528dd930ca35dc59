#include "coda/block/architecture.h"

#include "coda/block/gpt2_lists.h"
#include "coda/block/llama_lists.h"

namespace coda::block {

Architecture make_architecture(const Sizes& sizes, const ModelOptions& options,
                               const Inputs& inputs, MemoryPlan& plan) {
  const bool fold = folds(sizes, options);
  if (sizes.gpt2) {
    auto parameters = std::make_unique<Gpt2Parameters>(sizes, options.type, options.training, plan);
    auto lists = std::make_unique<Gpt2Lists>(sizes, options, *parameters, inputs, plan);
    return {std::move(parameters), std::move(lists)};
  }
  auto parameters =
      std::make_unique<LlamaParameters>(sizes, options.type, fold, options.training, plan);
  auto lists = std::make_unique<LlamaLists>(sizes, options, *parameters, inputs, plan);
  return {std::move(parameters), std::move(lists)};
}

}  // namespace coda::block
