// Row reductions: each thread keeps the states of its two rows; the four lanes that share a row
// combine them where a partial ends.
#pragma once
#include "coda/epilogue/warp_layout.h"
#include "coda/program/program.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

template <class State, class F>
CODA_DEVICE void for_each_member(State& state, F&& f) {
  if constexpr (stdlib::is_arithmetic_v<stdlib::remove_const_t<State>>) {
    f(state);
  } else {
    coda::detail::with_members(state, [&](auto&... member) { (f(member), ...); });
  }
}

template <class State>
CODA_DEVICE State shuffle_state(State state, uint32_t mask) {
  for_each_member(state, [&](float& member) { member = hw::shuffle_xor(member, mask); });
  return state;
}

// The states of a RowReduce port, by its place in the program; nothing for other ports.
template <int kIndex, class PortType, bool kReduces = PortType::kKind == PortKind::kRowReduce>
struct RowSlot {};
template <int kIndex, class PortType>
struct RowSlot<kIndex, PortType, true> {
  typename PortType::State state[2];
};

template <class Sequence, class... PortType>
struct RowSlots;
template <int... kIndex, class... PortType>
struct RowSlots<stdlib::integer_sequence<int, kIndex...>, PortType...>
    : RowSlot<kIndex, PortType>... {};

template <class Program>
struct RowStatesOf {
  template <class... PortType>
  static RowSlots<stdlib::make_integer_sequence<int, sizeof...(PortType)>,
                  stdlib::remove_cvref_t<PortType>...>
  list(PortType&...);
  using type = decltype(coda::detail::with_members(
      stdlib::declval<Program&>(), [](auto&... port) { return decltype(list(port...)){}; }));
};
template <class Program>
using RowStates = typename RowStatesOf<Program>::type;

template <int kIndex, class PortType, class States>
CODA_DEVICE auto& row_state(States& states) {
  return static_cast<RowSlot<kIndex, PortType>&>(states).state;
}

// All of a thread's values of one row at once, as fragments of one lane, whose functions are the
// layout's. counts(n): whether the n-th of them is a column of the problem.
template <class Reduction, class Layout, class State, class Counts, class... V>
CODA_DEVICE State combine_all_of_row(const State& running, int h, Counts&& counts,
                                     const V&... value) {
  using One = Fragment<Layout, float, Space::kScalar>;
  using Ones = typename Reduction::template State<One>;
  constexpr int kOwn = Layout::count(Space::kColumn);
  Ones more[kOwn];
  CODA_UNROLL
  for (int n = 0; n < kOwn; ++n) {
    more[n] = Reduction::lift(One{{value.lane[n / 2 * 4 + h * 2 + n % 2]}}...);
    if (!counts(n)) more[n] = Reduction::template identity<One>();
  }
  return stdlib::bit_cast<State>(Reduction::combine_all(stdlib::bit_cast<Ones>(running), more));
}

// Whether the compiler fuses a sum with the product that is added differs from kernel to kernel;
// results must not.
template <class Reduction, class State>
CODA_DEVICE State combine_lifted(const State& running, const State& lifted) {
  if constexpr (stdlib::is_same_v<Reduction, Sum>) {
    return hw::add_rounded(running, lifted);
  } else {
    return Reduction::combine(running, lifted);
  }
}

// A thread's running state of row h of its two with its values of that row. counts(n): whether the
// n-th of them is a column of the problem; whole: all of them are. kUniform: all lanes say the
// same; then a predicate each is shorter than a branch.
template <class Reduction, class Layout, bool kUniform, class State, class Counts, class... V>
CODA_DEVICE State combine_row(State running, int h, bool whole, Counts&& counts,
                              const V&... value) {
  if constexpr (CombinesAll<Reduction>) {
    if (whole) {
      return combine_all_of_row<Reduction, Layout>(running, h, [](int) { return true; }, value...);
    }
    return combine_all_of_row<Reduction, Layout>(running, h, counts, value...);
  } else {
    constexpr int kOwn = Layout::count(Space::kColumn);
    const auto next = [&](int n) {
      return combine_lifted<Reduction>(running,
                                       Reduction::lift(value.lane[n / 2 * 4 + h * 2 + n % 2]...));
    };
    if (!kUniform && whole) {
      CODA_UNROLL
      for (int n = 0; n < kOwn; ++n) running = next(n);
    } else {
      CODA_UNROLL
      for (int n = 0; n < kOwn; ++n) running = counts(n) ? next(n) : running;
    }
    return running;
  }
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
