// What executors rely on in a reduction, tried on a few numbers: its types cannot say it.
#pragma once
#include "coda/trace/graph.h"

namespace coda::author {

// Throws coda::Error where combine(identity, x) is not x, or combine gives something else in
// another order: which columns a state has seen first is up to the executor.
void inspect_reductions(const trace::Graph& graph);

}  // namespace coda::author
