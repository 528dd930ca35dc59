// Attention on whole fp64 matrices, written from the mathematics: softmax of all scores at once,
// and its derivative. With rounding switched on it is the unfused computation: what each operator
// of a framework stores is rounded to the type, what it computes inside to fp32.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "coda/attention/attention.h"
#include "coda/reference/formula.h"

namespace coda::attention {

using reference::Array;
using reference::Rounding;

struct Precision {
  Rounding stored, inside;
};
inline Precision exact() { return {}; }
inline Precision unfused(DType type) { return {Rounding(type, {}), Rounding(DType::kFp32, {})}; }

struct Inputs {
  Array q, k, v, dy;
};
struct Outputs {
  Array y, lse, dq, dk, dv;
};

inline Array part_of(const Array& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  Array result(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result(i, j) = x(row + i, column + j);
  }
  return result;
}
inline void add_part(Array& x, const Array& part, int64_t row, int64_t column) {
  for (int64_t i = 0; i < part.rows; ++i) {
    for (int64_t j = 0; j < part.columns; ++j) x(row + i, column + j) += part(i, j);
  }
}

// Over the keys that a query sees.
inline Array row_maxima(const Array& s) {  // [T, 1]
  Array result(s.rows, 1);
  for (int64_t i = 0; i < s.rows; ++i) {
    result(i, 0) = s(i, 0);
    for (int64_t j = 1; j <= i; ++j) result(i, 0) = std::max(result(i, 0), s(i, j));
  }
  return result;
}

// Scores [T, T] of one head, -∞ where a key is later than the query.
inline Array scores_of(const Array& q, const Array& k, double scale, const Rounding& stored) {
  Array s = stored(stored(stored.matmul(q, k)) * scale);
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = i + 1; j < s.columns; ++j) s(i, j) = -std::numeric_limits<double>::infinity();
  }
  return s;
}

// One head of one sequence; gradients of k and v are this head's share.
inline Outputs formula(const Inputs& in, double scale, const Precision& precision) {
  const auto& [stored, inside] = precision;
  const auto sums = [&](const Array& x) {
    return transpose(inside.row_partial_sums(x, {}, static_cast<int>(x.columns)));  // [T, 1]
  };
  const Array s = scores_of(in.q, in.k, scale, stored), most = row_maxima(s);
  const Array e = inside(map(inside(s - most), [](double x) { return std::exp(x); }));
  const Array sum = sums(e), p = stored(e / sum);
  Outputs out;
  out.lse = inside(most + inside(map(sum, [](double x) { return std::log(x); })));
  out.y = stored(stored.matmul(p, transpose(in.v)));
  out.dv = stored(stored.matmul(transpose(p), transpose(in.dy)));
  const Array dp = stored(stored.matmul(in.dy, in.v));
  const Array ds = stored(inside(p * inside(dp - sums(inside(p * dp)))));
  const Array scaled = stored(ds * scale);
  out.dq = stored(stored.matmul(scaled, transpose(in.k)));
  out.dk = stored(stored.matmul(transpose(scaled), transpose(in.q)));
  return out;
}

inline Outputs formula(const Shape& shape, const Inputs& in, const Precision& precision) {
  const int64_t rows = shape.batch * shape.tokens, d = shape.head_dim, T = shape.tokens;
  const Array queries(rows, shape.heads * d), keys(rows, shape.kv_heads * d);
  Outputs out{queries, Array(shape.heads, rows), queries, keys, keys};
  for (int64_t row = 0; row < rows; row += T) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      const int64_t at = head * d, kv_at = head / (shape.heads / shape.kv_heads) * d;
      const Outputs one = formula({part_of(in.q, row, T, at, d), part_of(in.k, row, T, kv_at, d),
                                   part_of(in.v, row, T, kv_at, d), part_of(in.dy, row, T, at, d)},
                                  static_cast<double>(shape.scale), precision);
      add_part(out.y, one.y, row, at);
      add_part(out.lse, transpose(one.lse), head, row);
      add_part(out.dq, one.dq, row, at);
      add_part(out.dk, one.dk, row, kv_at);
      add_part(out.dv, one.dv, row, kv_at);
    }
  }
  out.dk = precision.stored(out.dk);
  out.dv = precision.stored(out.dv);
  return out;
}

}  // namespace coda::attention
