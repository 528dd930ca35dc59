// Which parameters and lists a model has: the one place where architectures part.
#pragma once
#include <memory>

#include "coda/block/model_lists.h"

namespace coda::block {

struct Architecture {
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<ModelLists> lists;  // refer to the parameters and to what they were made from
};

Architecture make_architecture(const Sizes& sizes, const ModelOptions& options,
                               const Inputs& inputs, MemoryPlan& plan);

}  // namespace coda::block
