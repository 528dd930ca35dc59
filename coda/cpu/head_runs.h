// Columns of one accumulator where B comes as halves of heads, as runs that lie within one head.
#pragma once
#include "coda/core/std.h"

namespace coda::cpu {

// f(head, first column within its half, offset among the columns, length).
template <class F>
CODA_HD void for_each_run(int64_t half, int64_t column, int count, F&& f) {
  for (int from = 0; from < count;) {
    const int64_t head = (column + from) / half, first = (column + from) % half;
    const int64_t left = half - first;
    const int length = static_cast<int>(left < count - from ? left : count - from);
    f(head, first, from, length);
    from += length;
  }
}

}  // namespace coda::cpu
