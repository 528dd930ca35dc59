// The tile that records: every call of a program becomes a node or an output of a graph. Host only.
#pragma once
#include <source_location>

#include "coda/program/program.h"
#include "coda/trace/reduction_facts.h"

namespace coda::trace {

template <class T>
using LoadedElement = std::conditional_t<IntegerElement<T>, int32_t, float>;

// What a program has written so far, in one run over a tile.
struct Written {
  std::vector<Output> outputs;
  std::vector<std::source_location> where;  // of each
};

// Throws coda::Error where a port is none of the program's.
int checked_place(const char* program, int place, const std::source_location& where);
// Throws coda::Error where a tensor is loaded after a store, which may have taken its place: the
// caller's, where an output is an input's memory, or shared memory of the GPU.
void check_nothing_stored(const Written& written, const char* program, const char* port,
                          const std::source_location& where);
// Throws coda::Error for a second output to the same port, and for a NaN that is written in it.
void add_output(Written& written, const Builder& builder, const char* program, const char* port,
                Output output, const std::source_location& where);

template <class Program>
class Tile {
 public:
  using Where = std::source_location;

  Tile(const Program& program, Builder& builder, int segment, int head_dim)
      : program_(program), builder_(builder), segment_(segment), head_dim_(head_dim) {}

  auto accumulator(AccumulatorIndex<Program> i = 0) const {
    return value<float, Space::kElement>(builder_.accumulator(i.value));
  }
  auto row() const { return value<int32_t, Space::kRow>(builder_.row()); }
  auto column() const { return value<int32_t, Space::kColumn>(builder_.column()); }
  int segment() const {
    asked_segment_ = true;
    return segment_;
  }
  int head_dim() const { return head_dim_; }
  bool given(const Port auto& port, const Where& where = Where::current()) const {
    place_of(port, where);
    return port.given;
  }
  auto choice(const Port auto& port, const Where& where = Where::current()) const {
    place_of(port, where);
    return port.chosen();
  }

  template <Port P>
  auto load(const P& port, const Where& where = Where::current()) const {
    static_assert(check_load<P, false>());
    return load_given(port, where);
  }
  template <Port P>
  auto load(const P& port, float otherwise, const Where& where = Where::current()) const {
    static_assert(check_load<P, true>());
    using Result = decltype(load_given(port, where));
    if (port.given) return load_given(port, where);
    if constexpr (P::kPaired) {
      using Half = decltype(Result::first);
      return Result{Half::constant(otherwise), Half::constant(otherwise)};
    } else {
      return Result::constant(static_cast<typename Result::Element>(otherwise));
    }
  }

  template <Port P, AnyFragment Rows>
  auto lookup(const P& port, const Rows& rows, const Where& where = Where::current()) const {
    static_assert(check_lookup<P, Rows>());
    using V = Values<float, Space::kElement>;
    const int place = place_of(port, where);
    return Pair<V>{V{{{builder_.lookup(place, 0, rows.lane[0].node)}}},
                   V{{{builder_.lookup(place, 1, rows.lane[0].node)}}}};
  }

  template <Port P, Value V>
  void store(const P& port, const V& value, const Where& where = Where::current()) const {
    static_assert(check_store<P, 1>());
    write(port, {node_of(value)}, nullptr, where);
  }
  template <Port P, Value First, Value Second>
  void store(const P& port, const First& first, const Second& second,
             const Where& where = Where::current()) const {
    static_assert(check_store<P, 2>());
    write(port, {node_of(first), node_of(second)}, nullptr, where);
  }
  template <Port P, Value V>
  void reduce(const P& port, const V& value, const Where& where = Where::current()) const {
    static_assert(check_reduce<P, 1>());
    write(port, {node_of(value)}, lift_facts<typename P::Reduction, 1>(), where);
  }
  template <Port P, Value First, Value Second>
  void reduce(const P& port, const First& first, const Second& second,
              const Where& where = Where::current()) const {
    static_assert(check_reduce<P, 2>());
    write(port, {node_of(first), node_of(second)}, lift_facts<typename P::Reduction, 2>(), where);
  }

  template <AnyFragment V>
  auto group_sum(const V& value) const {
    static_assert(
        groups_of<Program>(),
        "coda: a program that calls group_sum says so: static constexpr bool groups = true;");
    ++group_sums_;
    return this->template value<float, Space::kRow>(builder_.group_sum(value.lane[0].node));
  }

  const std::vector<Output>& outputs() const { return written_.outputs; }
  bool asked_segment() const { return asked_segment_; }
  int group_sums() const { return group_sums_; }

 private:
  template <class ElementType, Space kSpace>
  static auto value(int node) {
    return Values<ElementType, kSpace>{{{node}}};
  }

  template <class V>
  static int node_of(const V& value) {
    if constexpr (AnyFragment<V>) {
      static_assert(std::is_same_v<typename V::Element, float>,
                    "coda: floats are stored and reduced: to_float(x) makes them of integers, "
                    "select(mask, 1.0f, 0.0f) of masks");
      return value.lane[0].node;
    } else {
      return Recording::builder().constant(static_cast<double>(value));
    }
  }

  template <class P>
  int place_of(const P& port, const Where& where) const {
    return checked_place(name_of<Program>(), port_index(program_, port), where);
  }

  template <class P>
  auto load_given(const P& port, const Where& where) const {
    constexpr PortKind kKind = P::kKind;
    constexpr Space kSpace = kKind == PortKind::kScalar       ? Space::kScalar
                             : kKind == PortKind::kPerElement ? Space::kElement
                             : kKind == PortKind::kPerRow || kKind == PortKind::kPerRowFrom
                                 ? Space::kRow
                                 : Space::kColumn;
    using E = std::conditional_t<kKind == PortKind::kPerRowFrom, float,
                                 LoadedElement<typename P::Element>>;
    const int place = place_of(port, where);
    if constexpr (kKind == PortKind::kPerElement) {
      check_nothing_stored(written_, name_of<Program>(), Program::port_names.name[place], where);
    }
    const auto half = [&](int member) {
      return value<E, kSpace>(builder_.load(place, member, kSpace, element_of<E>()));
    };
    if constexpr (P::kPaired) {
      return Pair<Values<E, kSpace>>{half(0), half(1)};
    } else {
      return half(0);
    }
  }

  template <class P>
  void write(const P& port, std::vector<int> values, std::shared_ptr<const LiftFacts> lift,
             const Where& where) const {
    const int place = place_of(port, where);
    if (P::kOptional && !port.given) return;
    add_output(written_, builder_, name_of<Program>(), Program::port_names.name[place],
               {place, std::move(values), std::move(lift)}, where);
  }

  const Program& program_;
  Builder& builder_;
  int segment_, head_dim_;
  mutable Written written_;  // a program's functions take the tile as const too
  mutable bool asked_segment_ = false;
  mutable int group_sums_ = 0;
};

}  // namespace coda::trace
