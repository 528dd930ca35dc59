// Causal attention with grouped heads, for one batch of equally long sequences:
//   s = scale·q·kᵀ for keys up to the query's own position, p = softmax(s), y = p·v
// Query head h reads key head h / (heads / kv_heads). An engine may plug in an attention of its
// own. Host only.
#pragma once
#include "coda/core/view.h"

namespace coda::attention {

struct Shape {
  int64_t batch = 0, tokens = 0;  // tokens of one sequence
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0;  // usually 1/√head_dim
};

// bf16 or fp32, all of one type but lse. Row-major; rows are tokens, sequence after sequence.
struct Forward {
  TensorView q;     // [batch·tokens, heads·head_dim]
  TensorView k, v;  // [batch·tokens, kv_heads·head_dim]
  TensorView y;     // like q, out
  // [heads, batch·tokens], fp32, out: log Σ exp(s), for the same attention's backward, in an order
  // of its own.
  TensorView lse;
};

struct Backward {
  TensorView q, k, v, y, lse;  // as forward left them
  TensorView dy;               // like q
  TensorView dq, dk, dv;       // like q, k, v, out
};

inline constexpr int64_t kWorkspaceAlignment = 64;

// Where attention runs.
class Attention {
 public:
  virtual ~Attention() = default;
  // What forward and backward need between their arguments, aligned to kWorkspaceAlignment; holds
  // nothing from one call to the next.
  virtual int64_t workspace_bytes(const Shape& shape, DType type) const = 0;
  virtual void forward(const Shape& shape, const Forward& tensors, void* workspace) = 0;
  virtual void backward(const Shape& shape, const Backward& tensors, void* workspace) = 0;
};

// Throws coda::Error where an argument does not fit: extents, types, leading dimensions, missing
// data, an output or the workspace that shares memory with anything else.
void validate(const Shape& shape);
void validate(const Attention& attention, const Shape& shape, const Forward& tensors,
              const void* workspace);
void validate(const Attention& attention, const Shape& shape, const Backward& tensors,
              const void* workspace);

}  // namespace coda::attention
