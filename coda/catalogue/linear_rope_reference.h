// (c, s) = halves of the heads of n Wᵀ + b, n = rstd ⊙ A; heads of q and k normalised where weights
// are given, rotated by position·inv_freq or by tables; v as it is. Unfused: the row is normalised
// and stored, a linear with bias, the head norm in two operators, angles in fp32, cosines and
// sines in the model's type, two products and a sum.
#pragma once
#include <cmath>
#include <limits>

#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

namespace rope {

using reference::Array;

// The same for every head: [rows, half] → [rows, columns].
inline Array repeat(const Array& x, int64_t columns) {
  Array result(x.rows, columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result(i, j) = x(i, j % x.columns);
  }
  return result;
}

// Rows of a table; those that it does not have are NaN.
inline Array rows_at(const Array& table, const Array& positions) {
  Array result(positions.columns, table.columns, std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < result.rows; ++i) {
    const auto row = static_cast<int64_t>(positions(0, i));
    if (row < 0 || row >= table.rows) continue;
    for (int64_t j = 0; j < result.columns; ++j) result(i, j) = table(row, j);
  }
  return result;
}

// Columns from `begin` on come from `other`.
inline Array replaced_from(Array x, int64_t begin, const Array& other) {
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = begin; j < x.columns; ++j) x(i, j) = other(i, j);
  }
  return x;
}

// Mean of the squares of a head, for each of its columns.
inline Array head_mean_square(const Array& c, const Array& s, int64_t half) {
  Array result(c.rows, c.columns);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t head = 0; head < c.columns; head += half) {
      double sum = 0;
      for (int64_t j = head; j < head + half; ++j) sum += c(i, j) * c(i, j) + s(i, j) * s(i, j);
      for (int64_t j = head; j < head + half; ++j) {
        result(i, j) = sum / static_cast<double>(2 * half);
      }
    }
  }
  return result;
}

}  // namespace rope

inline reference::Arrays linear_rope_reference(const reference::Arrays& in,
                                               const reference::Rounding& round) {
  using reference::Array;
  const auto half = static_cast<int64_t>(in.at("head_dim")(0, 0)) / 2;
  const int64_t columns = in.at("B.first").rows;
  const auto sizes = segments_of(in, "segments.N");
  const int64_t q_end = sizes.at(0), k_end = q_end + sizes.at(1);  // in columns of a half

  const Array n = normalised_rows(in, round);
  Array c = round.matmul(n, in.at("B.first")), s = round.matmul(n, in.at("B.second"));
  if (in.contains("bias")) {
    c = c + half_of(in.at("bias"), half, 0);
    s = s + half_of(in.at("bias"), half, 1);
  }
  c = round(c);
  s = round(s);
  const Array plain_c = c, plain_s = s;

  if (in.contains("q_norm")) {
    const Array factor =
        reciprocal_sqrt(rope::head_mean_square(c, s, half) + given_or(in, "norm_epsilon", 1e-6f));
    const auto gamma = [&](int which) {
      const auto weight = [&](const char* name) {
        return rope::repeat(half_of(in.at(name), half, which), columns);
      };
      return rope::replaced_from(weight("q_norm"), q_end, weight("k_norm"));
    };
    c = round(round(c * factor) * gamma(0));
    s = round(round(s * factor) * gamma(1));
  }

  Array cosine, sine;  // [M, half]
  if (in.contains("cos_sin")) {
    const Array both = rope::rows_at(in.at("cos_sin"), in.at("positions"));  // cosines, then sines
    cosine = half_of(both, half, 0);
    sine = half_of(both, half, 1);
  } else {
    const Array angle = round.as(
        "inv_freq", transpose(in.at("positions")) * given_or(in, "inv_freq", 0.0) + Array(1, half));
    cosine = map(angle, [](double x) { return std::cos(x); });
    sine = map(angle, [](double x) { return std::sin(x); });
  }
  const Array scale = given_or(in, "scale", 1.0);
  cosine = rope::repeat(round(cosine * scale), columns);
  sine = rope::repeat(round(sine * scale), columns);
  const Array q = round.as("out", round(c * cosine) - round(s * sine));
  const Array k = round.as("out", round(s * cosine) + round(c * sine));
  return {{"z", join_halves(plain_c, plain_s, half)},
          {"out", join_halves(rope::replaced_from(q, k_end, plain_c),
                              rope::replaced_from(k, k_end, plain_s), half)}};
}

}  // namespace coda::catalogue
