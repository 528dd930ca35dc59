// Partials of rows as reductions store them, [parts, M], for formulas: maxima, and the states of
// log Σ exp. A partial covers `width` columns; a segment of N starts a new one.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "coda/reference/formula.h"

namespace coda::reference {

// What tile.row() or tile.column() gives for row or column i of the whole: they count from the
// begin of its segment.
inline int64_t place_in_segment(int64_t i, const std::vector<int64_t>& segments) {
  for (const int64_t size : segments) {
    if (i < size) return i;
    i -= size;
  }
  return i;
}

// f(first column, columns, part) for every partial.
template <class F>
void for_each_part(int64_t columns, std::vector<int64_t> segments, int64_t width, F&& f) {
  if (segments.empty()) segments = {columns};
  int64_t begin = 0, part = 0;
  for (const int64_t size : segments) {
    for (int64_t first = 0; first < size; first += width) {
      f(begin + first, std::min(width, size - first), part++);
    }
    begin += size;
  }
}

// -∞ of nothing; a NaN among the values gives NaN.
inline Array row_partial_max(const Array& x, const std::vector<int64_t>& segments = {},
                             int64_t width = 64) {
  int64_t parts = 0;
  for_each_part(x.columns, segments, width, [&](int64_t, int64_t, int64_t) { ++parts; });
  Array result(parts, x.rows, -INFINITY);
  for (int64_t i = 0; i < x.rows; ++i) {
    for_each_part(x.columns, segments, width, [&](int64_t first, int64_t count, int64_t part) {
      double& top = result(part, i);
      for (int64_t j = first; j < first + count; ++j) {
        if (!std::isnan(top) && !(x(i, j) <= top)) top = x(i, j);
      }
    });
  }
  return result;
}

// What LogSumExp keeps: the largest value, and the sum of the exponentials below it.
struct LogSumExpPartials {
  Array max, sum;
};
inline LogSumExpPartials log_sum_exp_partials(const Array& x, const Rounding& round,
                                              const std::string& port,
                                              const std::vector<int64_t>& segments = {},
                                              int width = 64) {
  LogSumExpPartials result{row_partial_max(x, segments, width), {}};
  Array exponentials = x;
  for (int64_t i = 0; i < x.rows; ++i) {
    for_each_part(x.columns, segments, width, [&](int64_t first, int64_t count, int64_t part) {
      const double top = result.max(part, i), shift = std::isinf(top) ? 0 : top;
      for (int64_t j = first; j < first + count; ++j) exponentials(i, j) -= shift;
    });
  }
  const Array values =
      round.as(port, map(round.as(port, exponentials), [](double v) { return std::exp(v); }));
  result.sum = round.as(port, round.row_partial_sums(values, segments, width));
  return result;
}

}  // namespace coda::reference
