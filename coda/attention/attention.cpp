#include "coda/attention/attention.h"

#include <fmt/format.h>

#include "coda/rows/tensor_check.h"

namespace coda::attention {
namespace {

constexpr int64_t kMaxHeadDim = 256;

void check_shape(const row::TensorCheck& check, const Shape& shape) {
  const auto at_least = [&](const char* name, int64_t number, int64_t least) {
    if (number >= least) return;
    check.fail(name, fmt::format("{} or more", least), fmt::format("{}", number));
  };
  at_least("batch", shape.batch, 0);
  at_least("tokens", shape.tokens, 0);
  at_least("heads", shape.heads, 1);
  at_least("kv_heads", shape.kv_heads, 1);
  if (shape.heads % shape.kv_heads != 0) {
    check.fail("heads", fmt::format("a multiple of the {} kv_heads", shape.kv_heads),
               fmt::format("{}", shape.heads));
  }
  if (shape.head_dim < 2 || shape.head_dim > kMaxHeadDim || shape.head_dim % 2 != 0) {
    check.fail("head_dim", fmt::format("an even number from 2 to {}", kMaxHeadDim),
               fmt::format("{}", shape.head_dim));
  }
  constexpr int64_t kMost = int64_t{1} << 40;  // of elements: no byte count overflows
  const int64_t columns = shape.heads <= kMost / kMaxHeadDim ? shape.heads * shape.head_dim : kMost;
  if (columns >= kMost || (shape.batch > 0 && shape.tokens > kMost / columns / shape.batch)) {
    check.fail("tokens", "tensors that memory can hold",
               fmt::format("{} sequences of {} tokens and {} heads of {}", shape.batch,
                           shape.tokens, shape.heads, shape.head_dim));
  }
  check.positive("scale", shape.scale);
}

// The tensors' type, as q has it.
DType check_type(const row::TensorCheck& check, const TensorView& q) {
  if (q.dtype != DType::kBf16 && q.dtype != DType::kFp32) {
    check.fail("q", "elements of type bf16 or fp32", dtype_name(q.dtype));
  }
  return q.dtype;
}

struct Expected {
  DType type;
  Extent queries, keys, lse;
};

// What both directions read; Tensors is Forward or Backward.
template <class Tensors>
Expected check_inputs(row::TensorCheck& check, const Shape& shape, const Tensors& t) {
  check_shape(check, shape);
  const DType type = check_type(check, t.q);
  const int64_t rows = shape.batch * shape.tokens;
  const Extent queries{rows, shape.heads * shape.head_dim};
  const Extent keys{rows, shape.kv_heads * shape.head_dim};
  check.input("q", t.q, queries, {type});
  check.input("k", t.k, keys, {type});
  check.input("v", t.v, keys, {type});
  return {type, queries, keys, {shape.heads, rows}};
}

}  // namespace

void validate(const Shape& shape) { check_shape(row::TensorCheck("attention"), shape); }

void validate(const Attention& attention, const Shape& shape, const Forward& t,
              const void* workspace) {
  row::TensorCheck check("attention");
  const auto [type, queries, keys, lse] = check_inputs(check, shape, t);
  check.output("y", t.y, queries, {type});
  check.output("lse", t.lse, lse, {DType::kFp32});
  const int64_t needed = attention.workspace_bytes(shape, type);
  check.workspace({workspace, needed}, needed, kWorkspaceAlignment);
  check.finish();
}

void validate(const Attention& attention, const Shape& shape, const Backward& t,
              const void* workspace) {
  row::TensorCheck check("attention_backward");
  const auto [type, queries, keys, lse] = check_inputs(check, shape, t);
  check.input("y", t.y, queries, {type});
  check.input("lse", t.lse, lse, {DType::kFp32});
  check.input("dy", t.dy, queries, {type});
  check.output("dq", t.dq, queries, {type});
  check.output("dk", t.dk, keys, {type});
  check.output("dv", t.dv, keys, {type});
  const int64_t needed = attention.workspace_bytes(shape, type);
  check.workspace({workspace, needed}, needed, kWorkspaceAlignment);
  check.finish();
}

}  // namespace coda::attention
