// out = γ ⊙ z / √(mean of z² over the head + ε); unfused: linear, the norm in two operators.
// Column j of a half lies in head j/half.
#pragma once
#include <coda/reference/formula.h>

#include <cmath>

inline coda::reference::Arrays head_rms_formula(const coda::reference::Arrays& in,
                                                const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const auto half = static_cast<int64_t>(in.at("head_dim")(0, 0)) / 2;
  const Array first = round(round.matmul(in.at("A"), in.at("B.first")));
  const Array second = round(round.matmul(in.at("A"), in.at("B.second")));
  const double epsilon = given_or(in, "epsilon", 1e-6f)(0, 0);
  Array out(first.rows, 2 * first.columns);
  for (int64_t i = 0; i < first.rows; ++i) {
    for (int64_t head = 0; head < first.columns; head += half) {
      double squares = 0;
      for (int64_t j = head; j < head + half; ++j) {
        squares += first(i, j) * first(i, j) + second(i, j) * second(i, j);
      }
      const double factor = 1 / std::sqrt(squares / static_cast<double>(2 * half) + epsilon);
      for (int64_t j = 0; j < half; ++j) {
        out(i, 2 * head + j) = first(i, head + j) * factor;
        out(i, 2 * head + half + j) = second(i, head + j) * factor;
      }
    }
  }
  out = round(out);
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) out(i, j) *= in.at("gamma")(0, j % (2 * half));
  }
  return {{"out", round.as("out", out)}};
}
