// The derivatives of single functions. Host only.
#pragma once
#include <functional>

#include "coda/trace/builder.h"

namespace coda::trace {

// Hands give(k, node) the gradient of operand k of an Apply or GroupSum node, made of the node's
// own gradient and of values: value(node) of a node of the forward graph. Operands for which
// wants(k) is false are left out, as are those without a derivative (comparisons, floor).
struct PullBack {
  Builder& builder;
  std::function<int(int)> value;
  std::function<bool(int)> wants;
  std::function<void(int, int)> give;

  void operator()(const Node& node, int self, int gradient) const;
};

}  // namespace coda::trace
