// Attention as graphs for cuDNN's frontend: which tensors, where, and what is to be done with them.
// Host only.
#pragma once
#include <array>
#include <memory>

#include "coda/attention/attention.h"

namespace cudnn_frontend::graph {
class Graph;
}

namespace coda::attention {

// What execution hands a pointer for.
enum CudnnOperand : int64_t { kQ = 1, kK, kV, kY, kLse, kDy, kDq, kDk, kDv };

enum class Direction { kForward, kBackward, kBackwardDeterministic };

// Elements from one token to the next.
struct Pitches {
  int64_t q = 0, k = 0, v = 0, y = 0;
  int64_t dy = 0, dq = 0, dk = 0, dv = 0;  // of backward

  bool operator<(const Pitches& other) const { return all() < other.all(); }

  std::array<int64_t, 8> all() const { return {q, k, v, y, dy, dq, dk, dv}; }
};

// bf16 tensors, lse [batch, heads, tokens] of fp32.
std::shared_ptr<cudnn_frontend::graph::Graph> make_graph(Direction direction, const Shape& shape,
                                                         const Pitches& pitches);

}  // namespace coda::attention
