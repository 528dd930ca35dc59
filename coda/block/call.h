// Arguments and operands of catalogue calls, put together from views.
#pragma once
#include <utility>
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::block {

inline Argument port(const char* name, const TensorView& view) { return {name, {view}}; }
inline Argument number(const char* name, double value) { return {name, {}, value}; }

inline TensorView transpose(TensorView view) {
  std::swap(view.rows, view.columns);
  view.major = view.major == Major::kRow ? Major::kColumn : Major::kRow;
  return view;
}

// Rows [first, first + count) of a row-major view.
inline TensorView rows_of(TensorView view, int64_t first, int64_t count) {
  view.data = static_cast<const char*>(view.data) + first * view.ld * view.element_bytes;
  view.rows = count;
  return view;
}

// Columns [first, first + count) of a row-major view.
inline TensorView columns_of(TensorView view, int64_t first, int64_t count) {
  view.data = static_cast<const char*>(view.data) + first * view.element_bytes;
  view.columns = count;
  return view;
}

void append(std::vector<Argument>& to, std::vector<Argument> more);

// Several tensors as one operand, cut along its rows or along the contraction.
OperandView operand(Cut cut, const std::vector<TensorView>& parts);
inline OperandView operand(const TensorView& view) { return operand(Cut::kNone, {view}); }
OperandView pair_of(const TensorView& first, const TensorView& second);
OperandView halves_of(int64_t head_dim, const std::vector<TensorView>& parts);

}  // namespace coda::block
