// What cross_entropy.h's functions are called with, checked before anything is written; and the
// workspace, dealt out. Host only.
#pragma once
#include "coda/catalogue/cross_entropy.h"
#include "coda/rows/tensor_check.h"

namespace coda::catalogue {

// Deals out a workspace; without one it counts what would be dealt out.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(const CrossEntropyWorkspace& workspace)
      : data_(static_cast<std::byte*>(workspace.data)) {}

  template <class T>
  T* take(int64_t rows, int64_t columns = 1) {
    T* part = data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + bytes_);
    add(rows, columns, sizeof(T));
    return part;
  }
  int64_t bytes() const { return bytes_; }

 private:
  void add(int64_t rows, int64_t columns, int64_t element_bytes);

  std::byte* data_;
  int64_t bytes_ = 0;
};

inline constexpr int64_t kSumsWidth = 128;  // columns behind one partial of the loss
constexpr int64_t sum_parts(int64_t columns) { return (columns + kSumsWidth - 1) / kSumsWidth; }
// Lines that TMA takes.
constexpr int64_t padded_line(int64_t columns) { return (columns + 63) / 64 * 64; }

// Of a problem whose workspace is asked for.
void check_extents(int64_t rows, int64_t vocabulary);
void check_chunk(const char* name, int64_t chunk, int64_t multiple);
void check_options(const CrossEntropyOptions& options);
void check_loss(row::TensorCheck& check, const CrossEntropyLoss& outputs, int64_t losses,
                int64_t rows);

template <class T>
TensorView vector_of(const T* data, int64_t count) {
  return erase(Matrix<const T>(data, 1, count));
}

template <class T>
row::TensorCheck check_problem(const CrossEntropy<T>& p) {
  const int64_t M = p.x.rows, V = p.weight.rows, h = p.x.columns;
  check_options(p.options);
  row::TensorCheck check("linear_cross_entropy");
  check.input("x", erase(p.x), {M, h}, {dtype_of<T>});
  check.moved_by_tma();
  check.input("weight", erase(p.weight), {V, h}, {dtype_of<T>});
  check.moved_by_tma();
  if (V == 0) check.fail("weight", "a row for each of at least one class", "none");
  if (p.rstd.given) {
    const auto& squares = p.rstd.view[0];
    check.input("rstd", erase(squares), {squares.rows, M}, {DType::kFp32});
    check.positive("rstd_width", double{p.rstd.finish.width});
    check.not_negative("rstd_epsilon", double{p.rstd.finish.epsilon});
  }
  check.input("target", vector_of(p.target, M), {1, M}, {DType::kInt64});
  return check;
}

// A default-constructed gradient is one that the caller does not want.
template <class T>
bool wanted(const Matrix<T>& gradient) {
  return gradient.data != nullptr || gradient.rows != 0 || gradient.columns != 0;
}

// recomputes: dx is added up in dx_sum, and dots come in parts.
template <class T>
void check_gradients(row::TensorCheck& check, const CrossEntropy<T>& p,
                     const CrossEntropyGradients<T>& g, bool recomputes) {
  const int64_t M = p.x.rows, V = p.weight.rows, h = p.x.columns;
  const bool wants_dx = recomputes ? wanted(g.dx_sum) : wanted(g.dx);
  if (!wanted(g.dweight) && !wants_dx && !g.input_grad) {
    check.fail("dweight", "dweight, dx or both", "neither of them");
  }
  const bool each = p.options.reduction == LossReduction::kNone;
  const int64_t losses = each ? M : 1;
  if (each || g.dloss != nullptr) {
    check.input("dloss", vector_of(g.dloss, losses), {1, losses}, {DType::kFp32});
  }
  if (wanted(g.dweight)) {
    check.output("dweight", erase(g.dweight), {V, h}, {DType::kFp32});
    check.moved_by_tma();
  }
  if (wants_dx && !g.input_grad) {
    if (recomputes) {
      check.output("dx_sum", erase(g.dx_sum), {M, h}, {DType::kFp32});
    } else {
      check.output("dx", erase(g.dx), {M, h}, {dtype_of<T>});
    }
    check.moved_by_tma();
  }
  if (p.rstd.given) {
    check.output("dots", erase(g.dots), {recomputes ? sum_parts(V) : 1, M}, {DType::kFp32});
  }
}

}  // namespace coda::catalogue
