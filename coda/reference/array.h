// Matrices of doubles with the few operations that formulas are written in. Elementwise operations
// broadcast: [1, n], [m, 1] and [1, 1] stretch to the other side's extents; a number is a [1, 1].
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace coda::reference {

struct Array {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;  // row-major

  Array() = default;
  Array(int64_t rows, int64_t columns, double value = 0)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns), value) {}
  Array(double number) : Array(1, 1, number) {}
  Array(std::initializer_list<std::initializer_list<double>> lines);  // {{1, 2}, {3, 4}}

  // Throws coda::Error where there is no such element.
  double& operator()(int64_t i, int64_t j) { return values[place(i, j)]; }
  double operator()(int64_t i, int64_t j) const { return values[place(i, j)]; }
  int64_t size() const { return rows * columns; }
  bool operator==(const Array&) const = default;

 private:
  size_t place(int64_t i, int64_t j) const {
    // Of unsigned numbers one comparison each: formulas spend their time here.
    const bool inside = static_cast<uint64_t>(i) < static_cast<uint64_t>(rows) &&
                        static_cast<uint64_t>(j) < static_cast<uint64_t>(columns);
    if (!inside) fail_index(i, j);
    return static_cast<size_t>(i * columns + j);
  }
  [[noreturn]] void fail_index(int64_t i, int64_t j) const;
};

Array operator+(const Array& a, const Array& b);
Array operator-(const Array& a, const Array& b);
Array operator*(const Array& a, const Array& b);
Array operator/(const Array& a, const Array& b);

template <class Function>
Array map(Array x, Function&& f) {
  for (double& value : x.values) value = f(value);
  return x;
}

Array matmul(const Array& a, const Array& b);            // A·Bᵀ: [M, K], [N, K] → [M, N]
void check_contraction(const Array& a, const Array& b);  // throws coda::Error where K differs
int threads_for(int64_t multiplications);                // OpenMP's, where they are worth it
// The same with products and sums in fp32, in order.
Array matmul_fp32(const Array& a, const Array& b);
Array transpose(const Array& x);
// Columns of heads that are 2·half wide: those of their first (which = 0) or second halves; and
// both in turn, as heads have them.
Array half_of(const Array& x, int64_t half, int which);
Array join_halves(const Array& first, const Array& second, int64_t half);
Array row_sums(const Array& x);     // [M, N] → [M, 1]
Array column_sums(const Array& x);  // [M, N] → [1, N]

// Sums of `width` neighbours, as reductions store them: over columns [M, N] → [parts, M], over rows
// [M, N] → [parts, N]. Each segment starts a new part; no segments: the whole extent is one.
enum class Sums { kFp64, kFp32 };
Array row_partial_sums(const Array& x, const std::vector<int64_t>& segments = {}, int width = 64,
                       Sums sums = Sums::kFp64);
Array column_partial_sums(const Array& x, const std::vector<int64_t>& segments = {}, int width = 64,
                          Sums sums = Sums::kFp64);

Array reciprocal_sqrt(const Array& x);
Array silu(const Array& x);  // x / (1 + e^-x)

}  // namespace coda::reference
