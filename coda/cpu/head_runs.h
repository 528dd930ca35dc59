// Columns of one accumulator where B comes as halves of heads, as runs that lie within one head.
#pragma once
#include <cstring>

#include "coda/core/std.h"

namespace coda::cpu {

// A head, and a column within its half.
struct HeadColumn {
  int64_t head, column;

  // Where it stands among the columns of whole heads; that of the other half stands `half` further.
  CODA_HD int64_t among_heads(int64_t half) const { return head * 2 * half + column; }
};

// In 32 bits wherever it can be: this is asked for every row of a tile.
CODA_HD HeadColumn head_column(int64_t half, int64_t column) {
  if (column >> 32 != 0) return {column / half, column % half};
  const auto at = static_cast<uint32_t>(column), of = static_cast<uint32_t>(half);
  return {at / of, at % of};
}

// f(begin of the run, offset among the columns, length), for `count` columns from `first` on.
template <class F>
CODA_HD void for_each_run(int64_t half, HeadColumn first, int count, F&& f) {
  for (int from = 0; from < count;) {
    const int64_t left = half - first.column;
    const int length = static_cast<int>(left < count - from ? left : count - from);
    f(first, from, length);
    from += length;
    first = {first.head + 1, 0};
  }
}

// Both halves of heads into a line of whole heads.
template <class T>
CODA_HD void write_heads(T* line, int64_t half, HeadColumn first, int count, const T* one,
                         const T* other) {
  for_each_run(half, first, count, [&](HeadColumn begin, int from, int n) {
    T* to = line + begin.among_heads(half);
    std::memcpy(to, one + from, sizeof(T) * static_cast<size_t>(n));
    std::memcpy(to + half, other + from, sizeof(T) * static_cast<size_t>(n));
  });
}

}  // namespace coda::cpu
