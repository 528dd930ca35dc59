// Row reductions: each thread keeps the states of its two rows; the four lanes that share a row
// combine them where a partial ends.
#pragma once
#include "coda/epilogue/hardware.h"
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

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
