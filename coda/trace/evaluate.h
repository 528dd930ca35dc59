// A graph on whole matrices of doubles, one function after the other: what a program means, where
// nobody has written its formula, and a check of those who have. Host only.
#pragma once
#include "coda/reference/formula.h"
#include "coda/trace/graph.h"

namespace coda::trace {

// Inputs and outputs as of a reference::Formula: "A" and "B" ("B.first", "B.second") or, instead of
// them, "accumulator.0", "accumulator.1"; ports by name; "segments.M", "segments.N", "head_dim".
// Scalars that are left out have the value of the instance that was traced. Throws coda::Error for
// a port that is missing.
// unfused: as a GEMM that stores its result in the operands' type and one pass over it in fp32
// would compute, each output rounded to its port's type; nullptr: in fp64.
reference::Arrays evaluate(const Graph& graph, const reference::Arrays& in,
                           const reference::Rounding* unfused = nullptr);

}  // namespace coda::trace
