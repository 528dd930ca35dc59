// What cross_entropy.h's functions are called with, checked before anything is written; and the
// workspace, dealt out. Host only.
#pragma once
#include "coda/catalogue/cross_entropy.h"

namespace coda::catalogue {

// Deals out a workspace; without one it counts what would be dealt out.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(const CrossEntropyWorkspace& workspace)
      : data_(static_cast<std::byte*>(workspace.data)) {}

  template <class T>
  T* take(int64_t count) {
    constexpr int64_t kAlignment = 256;
    T* part = data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + bytes_);
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  int64_t bytes_ = 0;
};

inline constexpr int64_t kSumsWidth = 128;  // columns behind one partial of the loss
constexpr int64_t sum_parts(int64_t columns) { return (columns + kSumsWidth - 1) / kSumsWidth; }
// Lines that TMA takes.
constexpr int64_t padded_line(int64_t columns) { return (columns + 63) / 64 * 64; }

void check_chunk(const char* name, int64_t chunk, int64_t multiple);
void check_workspace(const CrossEntropyWorkspace& workspace, int64_t needed);
// A matrix, row-major, of these extents and with data.
void check_matrix(const char* name, const TensorView& view, int64_t rows, int64_t columns);
void check_options(const CrossEntropyOptions& options);
void check_pointer(const char* name, const void* pointer, int64_t count);

template <class T>
void check_problem(const CrossEntropy<T>& p) {
  check_options(p.options);
  check_matrix("x", erase(p.x), p.x.rows, p.x.columns);
  check_matrix("weight", erase(p.weight), p.weight.rows, p.x.columns);
  if (p.weight.rows == 0) {
    fail_argument("linear_cross_entropy", "weight", "a row for each of at least one class", "none");
  }
  if (p.rstd.given) check_matrix("rstd", erase(p.rstd.view[0]), p.rstd.view[0].rows, p.x.rows);
  check_pointer("target", p.target, p.x.rows);
}

// A default-constructed gradient is one that the caller does not want.
template <class T>
bool wanted(const Matrix<T>& gradient) {
  return gradient.data != nullptr || gradient.rows != 0 || gradient.columns != 0;
}

// recomputes: dx is added up in dx_sum, and dots come in parts.
template <class T>
void check_gradients(const CrossEntropy<T>& p, const CrossEntropyGradients<T>& g, bool recomputes) {
  const int64_t M = p.x.rows, V = p.weight.rows, h = p.x.columns;
  const bool wants_dx = recomputes ? wanted(g.dx_sum) : wanted(g.dx);
  if (!wanted(g.dweight) && !wants_dx && !g.input_grad) {
    fail_argument("linear_cross_entropy", "dweight", "dweight, dx or both", "neither of them");
  }
  if (wanted(g.dweight)) check_matrix("dweight", erase(g.dweight), V, h);
  if (wants_dx && !g.input_grad) {
    const TensorView dx = recomputes ? erase(g.dx_sum) : erase(g.dx);
    check_matrix(recomputes ? "dx_sum" : "dx", dx, M, h);
  }
  if (p.rstd.given) check_matrix("dots", erase(g.dots), recomputes ? sum_parts(V) : 1, M);
  if (p.options.reduction == LossReduction::kNone) check_pointer("dloss", g.dloss, M);
}

}  // namespace coda::catalogue
