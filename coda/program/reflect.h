// A program's members as a list: how many ports, their names, a visit of each. Aggregates only; no
// macro, no registration.
#pragma once
#include "coda/program/ports.h"

namespace coda {

inline constexpr int kMaxPorts = 16;

template <int kCount>
struct PortNames {
  const char* name[kCount];
  static constexpr int size() { return kCount; }
};

// static constexpr auto port_names = coda::names("scale", "out");   in the order of the members
template <class... Name>
constexpr PortNames<sizeof...(Name)> names(Name... name) {
  return {{name...}};
}

namespace detail {

struct AnyMember {
  template <class T>
  constexpr operator T() const;
};

template <class T, size_t... kIndex>
constexpr bool constructible_from(stdlib::index_sequence<kIndex...>) {
  return requires { T{((void)kIndex, AnyMember{})...}; };
}

template <class T, int kCount = kMaxPorts + 1>
constexpr int member_count() {
  if constexpr (kCount == 0) {
    return 0;
  } else if constexpr (constructible_from<T>(stdlib::make_index_sequence<kCount>{})) {
    return kCount;
  } else {
    return member_count<T, kCount - 1>();
  }
}

// Calls f(member...) with all members of an aggregate.
template <class T, class F>
CODA_HD constexpr decltype(auto) with_members(T& t, F&& f) {
  constexpr int n = member_count<stdlib::remove_const_t<T>>();
#define CODA_WITH(COUNT, ...) \
  if constexpr (n == COUNT) { \
    auto& [__VA_ARGS__] = t;  \
    return f(__VA_ARGS__);    \
  } else
  CODA_WITH(1, a)
  CODA_WITH(2, a, b)
  CODA_WITH(3, a, b, c)
  CODA_WITH(4, a, b, c, d)
  CODA_WITH(5, a, b, c, d, e)
  CODA_WITH(6, a, b, c, d, e, g)
  CODA_WITH(7, a, b, c, d, e, g, h)
  CODA_WITH(8, a, b, c, d, e, g, h, i)
  CODA_WITH(9, a, b, c, d, e, g, h, i, j)
  CODA_WITH(10, a, b, c, d, e, g, h, i, j, k)
  CODA_WITH(11, a, b, c, d, e, g, h, i, j, k, l)
  CODA_WITH(12, a, b, c, d, e, g, h, i, j, k, l, m)
  CODA_WITH(13, a, b, c, d, e, g, h, i, j, k, l, m, o)
  CODA_WITH(14, a, b, c, d, e, g, h, i, j, k, l, m, o, p)
  CODA_WITH(15, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q)
  CODA_WITH(16, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r) {
    static_assert(n >= 1 && n <= kMaxPorts, "coda: between 1 and 16 members");
  }
#undef CODA_WITH
}

}  // namespace detail

template <class Program>
inline constexpr int port_count = detail::member_count<Program>();

// Calls f(port, index) for every port in order; the index is a compile-time constant.
template <class Program, class F>
CODA_HD constexpr void for_each_port(Program& program, F&& f) {
  detail::with_members(program, [&](auto&... port) {
    [&]<int... kIndex>(stdlib::integer_sequence<int, kIndex...>) {
      (f(port, stdlib::integral_constant<int, kIndex>{}), ...);
    }(stdlib::make_integer_sequence<int, sizeof...(port)>{});
  });
}

// Which port of the program this is: its place among the members. The compiler folds it to a
// constant.
template <class Program, class PortType>
CODA_HD int port_index(const Program& program, const PortType& port) {
  int result = -1;
  for_each_port(program, [&](const auto& other, auto index) {
    if (static_cast<const void*>(&other) == static_cast<const void*>(&port)) result = index;
  });
  return result;
}

}  // namespace coda
