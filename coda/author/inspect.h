// What a program does with its ports, found by running it once on a tile that only takes notes:
// rules that its types cannot express, with the author's lines.
#pragma once
#include <source_location>
#include <string>
#include <vector>

#include "coda/core/error.h"
#include "coda/program/lanes.h"
#include "coda/program/program.h"

namespace coda::author {

// One value stands for all.
struct NoteLayout {
  template <class Element>
  using Lane = Element;
  static constexpr int count(Space) { return 1; }
  static constexpr int project(Space, int) { return 0; }
  template <class Element>
  static Element broadcast(Element value) {
    return value;
  }
  template <class Operation, class... Element>
  static auto apply(Operation operation, Element... element) -> decltype(operation(element...)) {
    return operation(element...);
  }
};

// The calls on one port.
struct PortNotes {
  std::string name;
  PortKind kind = PortKind::kStore;
  std::vector<std::source_location> calls;  // of one run
  bool used = false;                        // in some run
};

// After a run. Throws coda::Error for an output that was written twice.
void check_run(const char* program, std::vector<PortNotes>& ports);
// After all of them. Throws for a port that was never used.
void check_uses(const char* program, const std::vector<PortNotes>& ports);
[[noreturn]] void fail_foreign_port(const char* program, const std::source_location& where);

template <class Program>
class NoteTile {
 public:
  using Where = std::source_location;
  template <class Element, Space kSpace>
  using Values = Fragment<NoteLayout, Element, kSpace>;

  NoteTile(const Program& program, std::vector<PortNotes>& notes)
      : program_(program), notes_(notes) {}

  auto accumulator(AccumulatorIndex<Program> = 0) const { return one<float, Space::kElement>(); }
  auto row() const { return one<int32_t, Space::kRow>(); }
  auto column() const { return one<int32_t, Space::kColumn>(); }
  int segment() const { return 0; }
  int head_dim() const { return 64; }

  bool given(const Port auto& port, const Where& where = Where::current()) const {
    place_of(port, where);
    return true;
  }
  auto choice(const Port auto& port, const Where& where = Where::current()) const {
    note(port, where);
    return port.chosen();
  }
  template <Port P>
  auto load(const P& port, const Where& where = Where::current()) const {
    static_assert(check_load<P, false>());
    note(port, where);
    return loaded<P>();
  }
  template <Port P>
  auto load(const P& port, float, const Where& where = Where::current()) const {
    static_assert(check_load<P, true>());
    note(port, where);
    return loaded<P>();
  }
  template <Port P, AnyFragment Rows>
  auto lookup(const P& port, const Rows&, const Where& where = Where::current()) const {
    static_assert(check_lookup<P, Rows>());
    note(port, where);
    return Pair<Values<float, Space::kElement>>{one<float, Space::kElement>(),
                                                one<float, Space::kElement>()};
  }
  template <Port P, Value V>
  void store(const P& port, const V&, const Where& where = Where::current()) const {
    static_assert(check_store<P, 1>());
    note(port, where);
  }
  template <Port P, Value First, Value Second>
  void store(const P& port, const First&, const Second&,
             const Where& where = Where::current()) const {
    static_assert(check_store<P, 2>());
    note(port, where);
  }
  template <Port P, Value V>
  void reduce(const P& port, const V&, const Where& where = Where::current()) const {
    static_assert(check_reduce<P>());
    note(port, where);
  }
  template <Port P, Value First, Value Second>
  void reduce(const P& port, const First&, const Second&,
              const Where& where = Where::current()) const {
    static_assert(check_reduce<P>());
    note(port, where);
  }
  template <AnyFragment V>
  auto group_sum(const V&) const {
    static_assert(
        groups_of<Program>(),
        "coda: a program that calls group_sum says so: static constexpr bool groups = true;");
    return one<float, Space::kRow>();
  }

 private:
  template <class Element, Space kSpace>
  static auto one() {
    return Values<Element, kSpace>::constant(Element{1});
  }
  template <class P>
  static auto loaded() {
    constexpr PortKind kKind = P::kKind;
    constexpr Space kSpace = kKind == PortKind::kScalar       ? Space::kScalar
                             : kKind == PortKind::kPerElement ? Space::kElement
                             : kKind == PortKind::kPerRow || kKind == PortKind::kPerRowFrom
                                 ? Space::kRow
                                 : Space::kColumn;
    using Element = std::conditional_t<IntegerElement<typename P::Element>, int32_t, float>;
    const auto value = one<Element, kSpace>();
    if constexpr (P::kPaired) {
      return Pair<Values<Element, kSpace>>{value, value};
    } else {
      return value;
    }
  }
  template <class P>
  size_t place_of(const P& port, const Where& where) const {
    const int place = port_index(program_, port);
    if (place < 0) fail_foreign_port(name_of<Program>(), where);
    return static_cast<size_t>(place);
  }
  template <class P>
  void note(const P& port, const Where& where) const {
    notes_[place_of(port, where)].calls.push_back(where);
  }

  const Program& program_;
  std::vector<PortNotes>& notes_;
};

// All optional ports given, and every choice in turn.
template <class Program>
void inspect() {
  static_assert(check_program<Program>());
  Program program{};
  std::vector<PortNotes> notes;
  for_each_port(program, [&](const auto& port, auto index) {
    notes.push_back(
        {Program::port_names.name[index], std::remove_cvref_t<decltype(port)>::kKind, {}, false});
  });
  const auto run = [&] {
    NoteTile<Program> tile(program, notes);
    program(tile);
    check_run(name_of<Program>(), notes);
  };
  run();
  for_each_port(program, [&](auto& port, auto) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    if constexpr (requires { PortType::kChoices; }) {
      for (port.value = 1; port.value < PortType::kChoices; ++port.value) run();
      port.value = 0;
    }
  });
  check_uses(name_of<Program>(), notes);
}

}  // namespace coda::author
