// What a graph moves through memory: fused into its GEMM, as one pass after the GEMM (what a
// framework's compiler makes of it), and operator by operator (eager). Host only.
#pragma once
#include "coda/trace/graph.h"

namespace coda::trace {

struct TrafficShape {
  int64_t M = 0, N = 0, K = 0;  // N of one accumulator
  int64_t head_dim = 128;       // of B in halves
  int64_t operand_bytes = 2;    // of an element of A, B and of what a framework stores between
};

struct PortTraffic {
  std::string name, kind, type, shape;
  bool input = true;
  double bytes = 0;
};

struct Traffic {
  std::vector<PortTraffic> ports;  // those given
  double gemm_flops = 0, element_flops = 0;
  double operand_bytes = 0;   // A and B
  double fused_bytes = 0;     // operands and ports
  double compiled_bytes = 0;  // with a GEMM that stores its result and one pass over it
  double eager_bytes = 0;     // with a pass for every operator
  int eager_passes = 0;
};

Traffic traffic_of(const Graph& graph, const TrafficShape& shape);

double port_bytes(const PortView& port, const TrafficShape& shape);

}  // namespace coda::trace
