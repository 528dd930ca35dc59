#include "coda/reference/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace coda::reference {
namespace {

constexpr int kMinExponent = -126;  // of fp32 and bf16

// An operand's lines along the contraction, with the exponents of its values. Subnormal ones have
// the smallest exponent of their type, and so has zero that of fp32.
struct Lines {
  Lines(const Array& array, DType type)
      : length(array.columns), values(array.values.data()), finite(array.rows, 1) {
    const int smallest = type == DType::kFp16 ? -14 : kMinExponent;
    exponents.reserve(array.values.size());
    for (int64_t i = 0; i < array.rows; ++i) {
      for (int64_t k = 0; k < length; ++k) {
        const double value = array(i, k);
        if (!std::isfinite(value)) finite[static_cast<size_t>(i)] = 0;
        exponents.push_back(value == 0 ? kMinExponent : std::max(std::ilogb(value), smallest));
      }
    }
  }

  int64_t length;
  const double* values;  // [lines, length], as exponents
  std::vector<int> exponents;
  std::vector<char> finite;  // [lines]
};

int exponent_of(float value) { return value == 0 ? kMinExponent : std::ilogb(value); }

// The nearest fp32 value that is not larger in magnitude; beyond its range infinity.
float cut_to_fp32(double value) {
  const auto nearest = static_cast<float>(value);
  const double magnitude = std::fabs(value);
  if (std::fabs(static_cast<double>(nearest)) <= magnitude || magnitude >= 0x1p128) return nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) - 1);
}

// One instruction. At most 16·4 + 2 times 2^kTensorCoreBits is added up, in integers.
float add_products(float accumulator, const double* a, const int* exponents_a, const double* b,
                   const int* exponents_b, int64_t count) {
  int largest = std::max(exponent_of(accumulator), kMinExponent);
  for (int64_t k = 0; k < count; ++k) largest = std::max(largest, exponents_a[k] + exponents_b[k]);
  const double scale = std::ldexp(1.0, kTensorCoreBits - largest);
  auto sum = static_cast<int64_t>(static_cast<int32_t>(accumulator * scale));
  for (int64_t k = 0; k < count; ++k) sum += static_cast<int32_t>(a[k] * b[k] * scale);
  return cut_to_fp32(static_cast<double>(sum) / scale);
}

float multiply_lines(const Lines& a, int64_t i, const Lines& b, int64_t j) {
  const int64_t from_a = i * a.length, from_b = j * b.length;
  if (a.finite[static_cast<size_t>(i)] == 0 || b.finite[static_cast<size_t>(j)] == 0) {
    double sum = 0;  // infinities and NaNs flow as everywhere
    for (int64_t k = 0; k < a.length; ++k) sum += a.values[from_a + k] * b.values[from_b + k];
    return static_cast<float>(sum);
  }
  float accumulator = 0;
  for (int64_t k = 0; k < a.length && std::isfinite(accumulator); k += kTensorCoreDepth) {
    accumulator = add_products(accumulator, a.values + from_a + k, &a.exponents[from_a + k],
                               b.values + from_b + k, &b.exponents[from_b + k],
                               std::min<int64_t>(kTensorCoreDepth, a.length - k));
  }
  return accumulator;
}

}  // namespace

Array matmul_tensor_core(const Array& a, const Array& b, DType operands) {
  check_contraction(a, b);
  const Lines lines_a(a, operands), lines_b(b, operands);
  Array result(a.rows, b.rows);
#pragma omp parallel for num_threads(threads_for(a.rows* b.rows* a.columns)) schedule(static)
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.rows; ++j) result(i, j) = multiply_lines(lines_a, i, lines_b, j);
  }
  return result;
}

}  // namespace coda::reference
