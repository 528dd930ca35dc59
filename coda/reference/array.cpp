#include "coda/reference/array.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "coda/core/error.h"
#include "coda/core/max_threads.h"

namespace coda::reference {
namespace {

int64_t broadcast_extent(int64_t a, int64_t b, const char* direction) {
  if (a != b && a != 1 && b != 1) {
    throw Error(fmt::format("reference: expected equal {} or 1, got {} and {}", direction, a, b));
  }
  return a == 1 ? b : a;
}

template <class Function>
Array zip(const Array& a, const Array& b, Function f) {
  Array result(broadcast_extent(a.rows, b.rows, "rows"),
               broadcast_extent(a.columns, b.columns, "columns"));
  const int64_t a_step = a.columns == 1 ? 0 : 1, b_step = b.columns == 1 ? 0 : 1;
  for (int64_t i = 0; i < result.rows; ++i) {
    const double* x = a.values.data() + (a.rows == 1 ? 0 : i * a.columns);
    const double* y = b.values.data() + (b.rows == 1 ? 0 : i * b.columns);
    double* out = result.values.data() + i * result.columns;
    for (int64_t j = 0; j < result.columns; ++j) out[j] = f(x[j * a_step], y[j * b_step]);
  }
  return result;
}

// Part of each index of an extent that is cut into segments, and the number of parts.
std::vector<int64_t> parts_of(int64_t extent, std::vector<int64_t> segments, int width,
                              int64_t* count) {
  if (segments.empty()) segments = {extent};
  std::vector<int64_t> part;
  *count = 0;
  for (const int64_t size : segments) {
    for (int64_t i = 0; i < size; ++i) part.push_back(*count + i / width);
    *count += (size + width - 1) / width;
  }
  if (static_cast<int64_t>(part.size()) != extent) {
    throw Error(
        fmt::format("reference: expected segments that add up to {}, got {}", extent, part.size()));
  }
  return part;
}

}  // namespace

Array::Array(std::initializer_list<std::initializer_list<double>> lines)
    : rows(static_cast<int64_t>(lines.size())),
      columns(lines.size() == 0 ? 0 : static_cast<int64_t>(lines.begin()->size())) {
  for (const auto& line : lines) {
    if (static_cast<int64_t>(line.size()) != columns) {
      throw Error(
          fmt::format("reference: expected lines of {} numbers, got {}", columns, line.size()));
    }
    values.insert(values.end(), line);
  }
}

void Array::fail_index(int64_t i, int64_t j) const {
  throw Error(
      fmt::format("reference: expected an element of [{}, {}], got ({}, {})", rows, columns, i, j));
}

Array operator+(const Array& a, const Array& b) { return zip(a, b, std::plus<>()); }
Array operator-(const Array& a, const Array& b) { return zip(a, b, std::minus<>()); }
Array operator*(const Array& a, const Array& b) { return zip(a, b, std::multiplies<>()); }
Array operator/(const Array& a, const Array& b) { return zip(a, b, std::divides<>()); }

Array transpose(const Array& x) {
  Array result(x.columns, x.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) result(j, i) = x(i, j);
  }
  return result;
}

Array half_of(const Array& x, int64_t half, int which) {
  Array result(x.rows, x.columns / 2);
  for (int64_t i = 0; i < result.rows; ++i) {
    for (int64_t j = 0; j < result.columns; ++j) {
      result(i, j) = x(i, j / half * 2 * half + which * half + j % half);
    }
  }
  return result;
}

Array join_halves(const Array& first, const Array& second, int64_t half) {
  Array result(first.rows, 2 * first.columns);
  for (int64_t i = 0; i < first.rows; ++i) {
    for (int64_t j = 0; j < first.columns; ++j) {
      const int64_t to = j / half * 2 * half + j % half;
      result(i, to) = first(i, j);
      result(i, to + half) = second(i, j);
    }
  }
  return result;
}

int threads_for(int64_t multiplications) {
  constexpr int64_t kWorthThreads = 4000000;
  return multiplications > kWorthThreads ? std::min(omp_get_max_threads(), kMaxThreads) : 1;
}

void check_contraction(const Array& a, const Array& b) {
  if (a.columns == b.columns) return;
  throw Error(fmt::format("reference: matmul expected a contraction of {} on both sides, got {}",
                          a.columns, b.columns));
}

Array matmul(const Array& a, const Array& b) {
  check_contraction(a, b);
  const int64_t M = a.rows, N = b.rows, K = a.columns;
  const Array bt = transpose(b);  // [K, N]: the inner loop runs along a line of it, for SIMD
  Array result(M, N);
  // Four rows of A per pass over Bᵀ, which comes from cache or memory.
#pragma omp parallel for num_threads(threads_for(M* N* K)) schedule(static)
  for (int64_t i0 = 0; i0 < M; i0 += 4) {
    const int64_t end = std::min(i0 + 4, M);
    for (int64_t k = 0; k < K; ++k) {
      const double* line = bt.values.data() + k * N;
      for (int64_t i = i0; i < end; ++i) {
        const double factor = a(i, k);
        double* out = result.values.data() + i * N;
        for (int64_t j = 0; j < N; ++j) out[j] += factor * line[j];
      }
    }
  }
  return result;
}

Array matmul_fp32(const Array& a, const Array& b) {
  check_contraction(a, b);
  const int64_t M = a.rows, N = b.rows, K = a.columns;
  const Array transposed = transpose(b);
  const std::vector<float> bt(transposed.values.begin(), transposed.values.end());  // [K, N]
  Array result(M, N);
#pragma omp parallel for num_threads(threads_for(M* N* K)) schedule(static)
  for (int64_t i = 0; i < M; ++i) {
    std::vector<float> sums(static_cast<size_t>(N));
    float* const sum = sums.data();
    for (int64_t k = 0; k < K; ++k) {
      const auto factor = static_cast<float>(a(i, k));
      const float* line = bt.data() + k * N;
      for (int64_t j = 0; j < N; ++j) sum[j] += factor * line[j];
    }
    std::ranges::copy(sums, result.values.begin() + i * N);
  }
  return result;
}

Array row_sums(const Array& x) {
  Array result(x.rows, 1);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) result(i, 0) += x(i, j);
  }
  return result;
}

Array column_sums(const Array& x) {
  Array result(1, x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) result(0, j) += x(i, j);
  }
  return result;
}

Array column_partial_sums(const Array& x, const std::vector<int64_t>& segments, int width,
                          Sums sums) {
  int64_t count = 0;
  const std::vector<int64_t> part = parts_of(x.rows, segments, width, &count);
  Array result(count, x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      double& sum = result(part[static_cast<size_t>(i)], j);
      sum += x(i, j);
      if (sums == Sums::kFp32) sum = static_cast<float>(sum);
    }
  }
  return result;
}

Array row_partial_sums(const Array& x, const std::vector<int64_t>& segments, int width, Sums sums) {
  return column_partial_sums(transpose(x), segments, width, sums);
}

Array reciprocal_sqrt(const Array& x) {
  return map(x, [](double v) { return 1 / std::sqrt(v); });
}

Array silu(const Array& x) {
  return map(x, [](double v) { return v / (1 + std::exp(-v)); });
}

}  // namespace coda::reference
