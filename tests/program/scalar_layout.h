// The plainest fragment layout: 2 rows by 3 columns, a lane is one value. What programs mean,
// without any SIMD.
#pragma once
#include <initializer_list>

#include "coda/program/math.h"

namespace coda {

struct ScalarLayout {
  static constexpr int kRows = 2, kColumns = 3;
  template <class Element>
  using Lane = Element;
  static constexpr int count(Space space) {
    switch (space) {
      case Space::kScalar: return 1;
      case Space::kRow: return kRows;
      case Space::kColumn: return kColumns;
      case Space::kElement: return kRows * kColumns;
    }
    return 0;
  }
  static constexpr int project(Space space, int i) {
    return space == Space::kRow ? i / kColumns : i % kColumns;
  }
  template <class Element>
  static Element broadcast(Element value) {
    return value;
  }
  template <class Operation, class... Lanes>
  static auto apply(Operation operation, Lanes... lanes) -> decltype(operation(lanes...)) {
    return operation(lanes...);
  }
};

template <class Element, Space kSpace>
using ScalarFragment = Fragment<ScalarLayout, Element, kSpace>;
using RowValues = ScalarFragment<float, Space::kRow>;
using ColumnValues = ScalarFragment<float, Space::kColumn>;
using ElementValues = ScalarFragment<float, Space::kElement>;
using OneValue = ScalarFragment<float, Space::kScalar>;

// One lane per value given; the rest are zero.
template <class F>
F fragment(std::initializer_list<typename F::Element> values) {
  F result = F::constant({});
  int i = 0;
  for (const auto value : values) result.lane[i++] = value;
  return result;
}

}  // namespace coda
