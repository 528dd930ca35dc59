// Functions of program/math.h found again among the operations they are made of: sigmoid and relu,
// whose derivatives are better written from them than from their parts. Host only.
#pragma once
#include "coda/trace/graph.h"

namespace coda::trace {

Graph recognise(const Graph& graph);

// Only the nodes and ports that the outputs need; ports of the outputs themselves stay.
Graph without_unused(const Graph& graph);

}  // namespace coda::trace
