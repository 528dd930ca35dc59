// What kernels, unlike the CPU, cannot make of a program's sums over a head. Host only.
#pragma once
#include "coda/trace/graph.h"

namespace coda::author {

// Throws coda::Error for more sums than kernels have places for, and for sums of what is not there
// yet when they are made: tensors, and other such sums.
void inspect_group_sums(const trace::Graph& graph);

}  // namespace coda::author
