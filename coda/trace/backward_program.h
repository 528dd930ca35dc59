// The backward program of an operator whose incoming gradients all are tensors. Host only.
#pragma once
#include "coda/trace/derive.h"

namespace coda::trace {

struct BackwardOptions {
  std::vector<std::string> outputs;    // that have an incoming gradient
  std::vector<std::string> gradients;  // ports whose gradient is wanted
  bool accumulators = true;            // whether theirs are
  // The accumulators come as ports accumulator (accumulator0, accumulator1), stored by the forward
  // program with elements of this type, and nothing is contracted; else its GEMM runs again.
  bool kept = true;
  DType kept_element = DType::kBf16;
  DType operand = DType::kBf16;  // elements of daccumulator: the operand of the GEMMs behind
};

// Throws coda::Error for names that the program does not have, and for more ports than 16.
Graph backward_program(const Graph& forward, const BackwardOptions& options);

}  // namespace coda::trace
