// Operands: A as [M, K], B as [N, K], views of stock tensors in either major. Several tensors may
// make up one operand:
//   rows(q, k, v)             cut along the rows of the operand (N for B, M for A)
//   contraction(g, u)         cut along K: A·Bᵀ = Σ_i A_i·B_iᵀ; A and B are cut alike
//   pair(gate, up)            B for two accumulators, one operand each
//   halves(head_dim, q, k)    B for two accumulators: first and second half of every head
#pragma once
#include "coda/core/view.h"
#include "coda/program/ports.h"

namespace coda {

enum class Cut { kNone, kRows, kContraction };

// How the tensors of an operand make it up; the element type is known at run time only.
struct OperandView {
  TensorView part[2][kMaxSegments];  // [accumulator][segment]
  int segments = 1;
  int accumulators = 1;
  Cut cut = Cut::kNone;
  bool halved = false;   // by halves()
  int64_t head_dim = 0;  // of halves(), else 0
};

template <FloatElement T>
struct Operand : OperandView {
  constexpr Operand() = default;
  constexpr Operand(const Matrix<const T>& matrix) { part[0][0] = erase(matrix); }
  constexpr Operand(const Matrix<T>& matrix) : Operand(Matrix<const T>(matrix)) {}
};

namespace detail {
template <class T, class... Rest>
constexpr Operand<T> concatenate(Cut cut, const Matrix<const T>& first, const Rest&... rest) {
  static_assert(sizeof...(Rest) < kMaxSegments, "coda: an operand has at most four segments");
  Operand<T> operand;
  int i = 0;
  operand.part[0][i++] = erase(first);
  ((operand.part[0][i++] = erase(Matrix<const T>(rest))), ...);
  operand.segments = i;
  operand.cut = i > 1 ? cut : Cut::kNone;
  return operand;
}
}  // namespace detail

template <class T, class... Rest>
constexpr auto rows(const Matrix<T>& first, const Rest&... rest) {
  return detail::concatenate<stdlib::remove_const_t<T>>(Cut::kRows, first, rest...);
}

template <class T, class... Rest>
constexpr auto contraction(const Matrix<T>& first, const Rest&... rest) {
  return detail::concatenate<stdlib::remove_const_t<T>>(Cut::kContraction, first, rest...);
}

// Both operands are put together alike (same cut, same number of segments).
template <class T>
constexpr Operand<T> pair(const Operand<T>& first, const Operand<T>& second) {
  Operand<T> operand = first;
  operand.accumulators = 2;
  // A mismatch leaves the second accumulator with empty tensors, which validation reports.
  const bool alike = first.segments == second.segments && first.cut == second.cut;
  for (int i = 0; i < first.segments; ++i) {
    operand.part[1][i] = alike ? second.part[0][i] : erase(Matrix<const T>());
  }
  return operand;
}
template <class T>
constexpr auto pair(const Matrix<T>& first, const Matrix<T>& second) {
  using Element = stdlib::remove_const_t<T>;
  return pair(Operand<Element>(first), Operand<Element>(second));
}

template <class T, class... Rest>
constexpr auto halves(int64_t head_dim, const Matrix<T>& first, const Rest&... rest) {
  auto operand = rows(first, rest...);
  operand.accumulators = 2;
  operand.halved = true;
  operand.head_dim = head_dim;
  for (int i = 0; i < operand.segments; ++i) operand.part[1][i] = operand.part[0][i];
  return operand;
}

}  // namespace coda
