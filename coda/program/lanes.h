// Programs that compute several values from many: one lane after the other, so that few values are
// alive at a time. Beside 192 accumulators of a thread there are registers for no more.
#pragma once
#include "coda/program/math.h"

namespace coda {

// A layout whose fragments are one lane of another's.
template <class Layout>
struct OneLane {
  template <class Element>
  using Lane = typename Layout::template Lane<Element>;
  static constexpr int count(Space) { return 1; }
  static constexpr int project(Space, int) { return 0; }
  template <class Element>
  static CODA_HD auto broadcast(Element value) {
    return Layout::template broadcast<Element>(value);
  }
  template <class Operation, class... T>
  static CODA_HD auto apply(Operation operation, T... lanes)
      -> decltype(Layout::apply(operation, lanes...)) {
    return Layout::apply(operation, lanes...);
  }
};

template <class Layout>
using LaneValue = Fragment<OneLane<Layout>, float, Space::kElement>;

namespace detail {

template <class F, AnyFragment First, AnyFragment... Rest>
CODA_HD auto map_one_by_one(F&& f, const First& first, const Rest&... rest) {
  using Layout = typename First::Layout;
  using Value = LaneValue<Layout>;
  using Whole = Fragment<Layout, float, Space::kElement>;
  constexpr int kCount = Layout::count(Space::kElement);
  using Values = decltype(f(Value{}, (static_cast<void>(rest), Value{})...));
  constexpr int kResults = static_cast<int>(stdlib::tuple_size<Values>::value);
  stdlib::array<Whole, kResults> results;
  CODA_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const Values values = f(Value{{first.template at<Space::kElement>(i)}},
                            Value{{rest.template at<Space::kElement>(i)}}...);
    CODA_UNROLL
    for (int k = 0; k < kResults; ++k) results[k].lane[i] = values[k].lane[0];
  }
  return results;
}

}  // namespace detail

// f(value...) gives stdlib::array of LaneValue, from those of one lane of the fragments; all lanes
// of each become a fragment over the elements. A layout with registers for whole fragments, and
// time to win by computing lanes side by side, says kMapsWhole: there f is given the fragments.
template <class F, AnyFragment First, AnyFragment... Rest>
CODA_HD auto map_lanes(F&& f, const First& first, const Rest&... rest) {
  if constexpr (requires { requires First::Layout::kMapsWhole; }) {
    return f(first, rest...);
  } else {
    return detail::map_one_by_one(f, first, rest...);
  }
}

}  // namespace coda
