// A program: an aggregate of ports with port_names and a templated operator()(Tile&), the epilogue
// of a GEMM.
//   static constexpr auto port_names = coda::names(...);    required: one name per member, in order
//   static constexpr const char* name = "...";              optional: used in messages
//   static constexpr int accumulators = 2;                  optional: GEMMs side by side; else 1
//   static constexpr bool groups = true;                    optional: it calls tile.group_sum
// What a tile offers is in docs/architecture.md; check_program() gives a malformed program a
// readable compile error.
#pragma once
#include "coda/program/fragment.h"
#include "coda/program/operand.h"
#include "coda/program/ports.h"
#include "coda/program/reflect.h"

namespace coda {

template <class P>
constexpr int accumulators_of() {
  if constexpr (requires { P::accumulators; }) {
    return P::accumulators;
  } else {
    return 1;
  }
}

template <class P>
constexpr bool groups_of() {
  if constexpr (requires { P::groups; }) {
    return P::groups;
  } else {
    return false;
  }
}

template <class P>
constexpr const char* name_of() {
  if constexpr (requires { P::name; }) {
    return P::name;
  } else {
    return "program";
  }
}

// Which accumulator a program asks for: a constant below the number it has.
template <class P>
struct AccumulatorIndex {
  int value;
  consteval AccumulatorIndex(int index) : value(index) {
    if (index < 0 || index >= accumulators_of<P>()) the_program_has_no_such_accumulator();
  }

 private:
  static void the_program_has_no_such_accumulator() {}  // not in a constant: an error
};

// A value for both halves of a pair, as tile.load gives it for a Paired port.
template <class First, class Second = First>
struct Pair {
  First first;
  Second second;
};

namespace detail {
template <class P>
constexpr bool all_members_are_ports() {
  using Answer = decltype(with_members(stdlib::declval<P&>(), []<class... T>(T&...) {
    return stdlib::bool_constant<(Port<T> && ...)>();
  }));
  return Answer::value;
}

template <class P>
struct AnyBase {
  template <class T>
    requires(stdlib::is_base_of_v<T, P> && !stdlib::is_same_v<T, P>)
  constexpr operator T() const;
};
template <class P>
constexpr bool has_base() {
  return requires { P{AnyBase<P>{}}; };
}

// Whether B has to come as halves of heads.
template <class P>
constexpr bool takes_halves() {
  P program{};
  bool result = groups_of<P>();
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    result = result || PortType::kPaired || PortType::kKind == PortKind::kPerHead ||
             PortType::kKind == PortKind::kPairTable;
  });
  return result;
}

// Which ports, by place, are read by value or through vectors: inputs but for those over elements.
template <class P>
constexpr uint32_t vector_ports() {
  P program{};
  uint32_t result = 0;
  for_each_port(program, [&](const auto& port, auto index) {
    constexpr PortKind kKind = stdlib::remove_cvref_t<decltype(port)>::kKind;
    if (is_input(kKind) && kKind != PortKind::kPerElement) result |= 1u << index;
  });
  return result;
}

// Whether row partials that any tile can hold combine several states at a time. Rounding depends on
// how many, so all tiles then show the program as many columns.
template <class P>
constexpr bool combines_states() {
  bool result = false;
  P program{};
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = stdlib::remove_cvref_t<decltype(port)>;
    if constexpr (PortType::kKind == PortKind::kRowReduce) {
      result = result ||
               (PortType::kWidth == kPartialWidth && CombinesAll<typename PortType::Reduction>);
    }
  });
  return result;
}

template <class P>
constexpr bool has_port_of(PortKind kind) {
  P program{};
  bool result = false;
  for_each_port(program, [&](const auto& port, auto) {
    result = result || stdlib::remove_cvref_t<decltype(port)>::kKind == kind;
  });
  return result;
}
}  // namespace detail

template <class P>
concept Program = stdlib::is_aggregate_v<P> && stdlib::is_trivially_copyable_v<P> && requires {
  P::port_names.size();
} && detail::member_count<P>() >= 1 && detail::member_count<P>() <= kMaxPorts;

// Every executor calls this first; each rule that a program breaks is one readable message.
template <class P>
consteval bool check_program() {
  static_assert(
      stdlib::is_aggregate_v<P> && !detail::has_base<P>(),
      "coda: a program is a plain struct of ports: no constructors, no private members, no bases");
  static_assert(
      requires { P::port_names.size(); },
      "coda: a program names its ports: static constexpr auto port_names = coda::names(\"a\", "
      "\"b\", ...);");
  constexpr int members = detail::member_count<P>();
  static_assert(members >= 1 && members <= kMaxPorts,
                "coda: a program has between 1 and 16 ports, members by value: no references");
  if constexpr (requires { P::port_names.size(); }) {
    static_assert(P::port_names.size() == members,
                  "coda: port_names has one name for every member of the program, in order");
  }
  if constexpr (stdlib::is_aggregate_v<P> && !detail::has_base<P>() && members >= 1 &&
                members <= kMaxPorts) {
    static_assert(detail::all_members_are_ports<P>(),
                  "coda: every member of a program is a port: PerRow, PerColumn, PerElement, "
                  "Scalar, Choice, PerRowFrom, PerHead, PairTable, Store, RowReduce or "
                  "ColumnReduce");
    if constexpr (detail::all_members_are_ports<P>()) {
      static_assert(!groups_of<P>() || !detail::has_port_of<P>(PortKind::kRowReduce),
                    "coda: a program with group sums has no RowReduce: its groups do not line up "
                    "with the 64 columns of a partial");
      static_assert(!detail::takes_halves<P>() || accumulators_of<P>() != 1,
                    "coda: Paired, PerHead, PairTable and group sums take B in halves of heads, "
                    "one accumulator each: static constexpr int accumulators = 2;");
    }
  }
  static_assert(accumulators_of<P>() == 1 || accumulators_of<P>() == 2,
                "coda: a program has one accumulator or two");
  return true;
}

namespace detail {
template <class P, class Tile, class Result>
consteval bool takes_copy(Result (P::*)(Tile) const) {
  return true;
}
template <class P, class Tile>
consteval bool takes_copy(...) {
  return false;
}
}  // namespace detail

// Whether operator() is what executors call: outputs go by way of the tile, which keeps them.
template <class P, class Tile>
consteval bool check_call() {
  static_assert(check_program<P>());
  if constexpr (requires { &P::template operator()<Tile>; }) {
    static_assert(!detail::takes_copy<P, Tile>(&P::template operator()<Tile>),
                  "coda: operator() takes the tile by reference: operator()(Tile& tile) const");
  }
  if constexpr (requires(const P& program, Tile& tile) { program(tile); }) {
    using Result = decltype(stdlib::declval<const P&>()(stdlib::declval<Tile&>()));
    static_assert(stdlib::is_same_v<Result, void>,
                  "coda: operator() returns nothing: tile.store(port, value) writes an output");
  }
  return true;
}

// What a tile's functions take. Every executor's tile asks these first.
template <class P, bool kOtherwise>
consteval bool check_load() {
  static_assert(
      InputPort<P> && !TablePort<P>,
      "coda: load reads an input port: PerRow, PerColumn, PerElement, Scalar, PerRowFrom or "
      "PerHead; a PairTable takes lookup(port, row), a Choice choice(port)");
  if constexpr (InputPort<P>) {
    static_assert(
        !requires { P::kChoices; },
        "coda: a Choice is no value: choice(port) says which way, to branch on");
    static_assert(kOtherwise || !P::kOptional,
                  "coda: load of an Optional port takes the value to use where the port is "
                  "missing: load(port, 0.0f)");
    static_assert(!kOtherwise || P::kOptional,
                  "coda: only the load of an Optional port takes a second argument");
  }
  return true;
}
template <class P, int kValues>
consteval bool check_store() {
  static_assert(StorePort<P>,
                "coda: store writes to a Store port; a reduction takes reduce(port, value)");
  if constexpr (StorePort<P>) {
    static_assert(kValues == 2 || !P::kPaired,
                  "coda: a Paired port is stored with both halves: store(port, first, second)");
    static_assert(kValues == 1 || P::kPaired, "coda: only a Paired port is stored with two values");
  }
  return true;
}
template <class P, class Rows>
consteval bool check_lookup() {
  static_assert(TablePort<P>, "coda: lookup reads a PairTable");
  static_assert(Rows::kSpace == Space::kRow && stdlib::is_same_v<typename Rows::Element, int32_t>,
                "coda: lookup takes one integer per row: tile.load of a PerRow<const int64_t>");
  return true;
}
namespace detail {
template <class R, int kValues>
consteval bool lifts() {
  if constexpr (kValues == 1) {
    return requires(float x) { R::lift(x); };
  } else {
    return kValues == 2 && requires(float x) { R::lift(x, x); };
  }
}
}  // namespace detail
template <class P, int kValues>
consteval bool check_reduce() {
  static_assert(ReducePort<P>, "coda: reduce takes a RowReduce or ColumnReduce port");
  if constexpr (ReducePort<P>) {
    static_assert(detail::lifts<typename P::Reduction, kValues>(),
                  "coda: reduce takes as many values as the reduction's lift: one for Sum, Max and "
                  "LogSumExp");
  }
  return true;
}

}  // namespace coda
