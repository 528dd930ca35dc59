// Reductions of whole matrices in fp64, by their graphs. Host only.
#pragma once
#include "coda/reference/array.h"
#include "coda/trace/graph.h"

namespace coda::trace {

// fp32: every number is rounded to it, as programs compute.
std::vector<double> evaluate(const Subgraph& subgraph, const std::vector<double>& arguments,
                             bool fp32 = false);

std::vector<double> combined(const ReductionFacts& reduction, const std::vector<double>& a,
                             const std::vector<double>& b, bool fp32 = false);

// Partials of values [M, N], one for each argument: over columns (rows = true) [parts, M], else
// [parts, N], for each member of the state. Segments start new partials; none: there is one.
std::vector<reference::Array> reduced(const ReductionFacts& reduction, const LiftFacts& lift,
                                      const std::vector<reference::Array>& values, bool rows,
                                      std::vector<int64_t> segments, int width, bool fp32 = false);

}  // namespace coda::trace
