// Reductions of whole matrices in fp64, by their graphs. Host only.
#pragma once
#include "coda/reference/array.h"
#include "coda/trace/graph.h"

namespace coda::trace {

std::vector<double> evaluate(const Subgraph& subgraph, const std::vector<double>& arguments);

std::vector<double> combined(const ReductionFacts& reduction, const std::vector<double>& a,
                             const std::vector<double>& b);

// Partials of values [M, N], one for each argument: over columns (rows = true) [parts, M], else
// [parts, N], for each member of the state. Segments start new partials; none: there is one.
std::vector<reference::Array> reduced(const ReductionFacts& reduction, const LiftFacts& lift,
                                      const std::vector<reference::Array>& values, bool rows,
                                      std::vector<int64_t> segments, int width);

}  // namespace coda::trace
