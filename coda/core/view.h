// Views of tensors: typed ones for C++ callers, an untyped one for validation, the C API and the
// command line. They own nothing.
#pragma once
#include "coda/core/types.h"

namespace coda {

enum class Major { kRow, kColumn };

// [rows, columns]; element (i, j) stands at i·ld + j (row-major) or j·ld + i (column-major).
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0, ld = 0;
  Major major = Major::kRow;

  constexpr Matrix() = default;
  constexpr Matrix(T* data, int64_t rows, int64_t columns, int64_t ld, Major major = Major::kRow)
      : data(data), rows(rows), columns(columns), ld(ld), major(major) {}
  constexpr Matrix(T* data, int64_t rows, int64_t columns) : Matrix(data, rows, columns, columns) {}
  constexpr Matrix(
      const Matrix<stdlib::remove_const_t<T>>& other)  // a view to read is made from one to write
    requires stdlib::is_const_v<T>
      : Matrix(other.data, other.rows, other.columns, other.ld, other.major) {}
  constexpr Matrix(const Matrix&) = default;
  constexpr Matrix& operator=(const Matrix&) = default;

  // The same memory read as [columns, rows].
  constexpr Matrix transposed() const {
    return {data, columns, rows, ld, major == Major::kRow ? Major::kColumn : Major::kRow};
  }
};

// A matrix whose element type is known at run time only. A vector is one row.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kFp32;
  int64_t rows = 0, columns = 0, ld = 0;
  Major major = Major::kRow;
  int64_t element_bytes = 4;

  // Length of the contiguous direction, and how many such lines there are.
  constexpr int64_t line() const { return major == Major::kRow ? columns : rows; }
  constexpr int64_t lines() const { return major == Major::kRow ? rows : columns; }
  constexpr bool empty() const { return rows == 0 || columns == 0; }
};

template <class T>
constexpr TensorView erase(const Matrix<T>& m) {
  return {m.data, dtype_of<T>, m.rows, m.columns, m.ld, m.major, static_cast<int64_t>(sizeof(T))};
}

}  // namespace coda
