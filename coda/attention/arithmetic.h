// How the CPU multiplies for attention: with the GEMM's micro-kernels. Tensors are packed into
// panels as they are; what attention makes itself, blocks, lies in lines of bf16 where the
// processor multiplies pairs of it, else of fp32. Host only.
#pragma once
#include <algorithm>

#include "coda/attention/attention.h"
#include "coda/attention/steps.h"
#include "coda/cpu/kernels.h"

namespace coda::attention {

constexpr int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_divide(a, b) * b; }

struct Arithmetic {
  const cpu::Kernels& tensors;  // packs tensors
  const cpu::Kernels& blocks;   // packs blocks and multiplies
  DType block_type;
  const Steps& steps;

  int64_t rows() const { return blocks.rows; }  // of a micro-tile
  int64_t columns() const { return blocks.columns; }
  int64_t units(int64_t depth) const { return ceil_divide(depth, blocks.unit); }
  int64_t block_bytes() const { return dtype_bytes(block_type); }
  // Rows of queries or keys that are taken together: whole micro-tiles.
  int64_t block_rows(int64_t about, int64_t tokens) const {
    return round_up(std::min(about, tokens), columns());
  }

  // c [rows, columns] (+)= lines · panelsᵀ, depth in units; lines [rows, ...] `pitch` bytes apart,
  // panels [columns / width, stride, width].
  void multiply_lines(int64_t depth, const void* lines, int64_t pitch, const uint32_t* panels,
                      int64_t stride, float* c, int64_t ldc, int64_t columns,
                      bool accumulate) const {
    for (int64_t column = 0; column < columns; column += blocks.columns) {
      blocks.multiply_lines(depth, lines, pitch, panels + column * stride, c + column, ldc,
                            accumulate);
    }
  }
};

Arithmetic arithmetic_for(cpu::Isa isa, DType type);

// One head of one sequence, [tokens, head_dim], and some of its rows.
inline TensorView head_of(const TensorView& tensor, const Shape& shape, int64_t sequence,
                          int64_t head) {
  TensorView view = tensor;
  view.rows = shape.tokens;
  view.columns = shape.head_dim;
  view.data = static_cast<const char*>(tensor.data) +
              (sequence * shape.tokens * tensor.ld + head * shape.head_dim) * tensor.element_bytes;
  return view;
}
inline TensorView rows_of(TensorView view, int64_t begin, int64_t count) {
  view.data = static_cast<const char*>(view.data) + begin * view.ld * view.element_bytes;
  view.rows = count;
  return view;
}

// Panels over some rows of a head, for products along its columns, and the other way round.
inline cpu::PackJob rows_job(const TensorView& head, int64_t begin, int64_t count) {
  return {head, begin, count, 0, head.columns};
}
inline cpu::PackJob columns_job(const TensorView& head, int64_t begin, int64_t count) {
  TensorView across = head;
  std::swap(across.rows, across.columns);
  across.major = Major::kColumn;
  return {across, 0, across.rows, begin, count};
}

// Parts of a workspace, one after the other, aligned; without data it counts.
class Carver {
 public:
  explicit Carver(void* data) : data_(static_cast<char*>(data)) {}
  template <class T>
  T* take(int64_t count) {
    char* const part = data_ == nullptr ? nullptr : data_ + bytes_;
    bytes_ += round_up(count * static_cast<int64_t>(sizeof(T)), kWorkspaceAlignment);
    return reinterpret_cast<T*>(part);
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* data_;
  int64_t bytes_ = 0;
};

// The two halves of CpuAttention: arguments have been validated, there is something to compute.
int64_t forward_bytes(const Arithmetic& arithmetic, const Shape& shape, int threads);
void run_forward(const Arithmetic& arithmetic, const Shape& shape, const Forward& tensors,
                 int threads, void* workspace);
int64_t backward_bytes(const Arithmetic& arithmetic, const Shape& shape, int threads);
void run_backward(const Arithmetic& arithmetic, const Shape& shape, const Backward& tensors,
                  int threads, void* workspace);

}  // namespace coda::attention
