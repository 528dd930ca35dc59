// trace::run(program): the graph of a program as it is given, optional ports missing or not,
// numbers and choices as they are. Host only.
#pragma once
#include <map>
#include <set>

#include "coda/program/describe.h"
#include "coda/trace/tile.h"

namespace coda::trace {

namespace detail {

template <class T>
double to_number(T value) {
  if constexpr (IntegerElement<T>) {
    return static_cast<double>(value);
  } else {
    return to_float(value);
  }
}
template <class T>
T from_number(double number) {
  if constexpr (IntegerElement<T>) {
    return static_cast<T>(number);
  } else {
    return from_float<T>(static_cast<float>(number));
  }
}

template <class P>
std::vector<PortFacts> port_facts(const P& program) {
  std::vector<PortFacts> result;
  for_each_port(program, [&](const auto& port, auto) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    PortFacts facts;
    if constexpr (PortType::kKind == PortKind::kScalar) {
      facts.number = to_number(port.value);
      if constexpr (requires { PortType::kChoices; }) {
        facts.choice_type = type_name<decltype(port.chosen())>();
      }
    }
    if constexpr (ReducePort<PortType>)
      facts.reduction = reduction_facts<typename PortType::Reduction>();
    if constexpr (PortType::kKind == PortKind::kPerRowFrom)
      facts.finish = finish_facts(port.finish);
    result.push_back(std::move(facts));
  });
  return result;
}

// The same for every segment: one list is enough.
void merge_segments(Graph& graph);
// Throws coda::Error where an output is given and not written.
void check(const Graph& graph);
// Of two traces that differ in the width of a head alone: constants that are this width.
Graph with_head_dim(const Graph& graph, int head_dim, const Graph& other, int other_head_dim);

template <class P>
Graph run_with(const P& program, int head_dim) {
  Graph graph{describe(program), port_facts(program), {}, {}};
  int ports_segments = 1;
  for (PortView& port : graph.program.ports) {
    port.given = port.given || !port.optional;  // whoever runs it has to give it
    if (port.kind != PortKind::kPairTable) ports_segments = std::max(ports_segments, port.segments);
  }
  Builder builder(graph.nodes);
  const Recording recording(builder);
  int segments = ports_segments;
  for (int i = 0; i < segments; ++i) {
    const Tile<P> tile(program, builder, i, head_dim);
    program(tile);
    if (tile.asked_segment() && ports_segments == 1) segments = kMaxSegments;
    graph.segments.push_back(tile.outputs());
    graph.group_sums = std::max(graph.group_sums, tile.group_sums());
  }
  merge_segments(graph);
  return graph;
}

}  // namespace detail

template <class P>
Graph run(const P& program) {
  static_assert(check_program<P>());
  // To the program the width of a head is a plain number: what changes with it is that number.
  constexpr int kHeadDim = 1018, kOther = 1042;
  Graph graph = detail::run_with(program, kHeadDim);
  if (graph.program.halves) {
    graph = detail::with_head_dim(graph, kHeadDim, detail::run_with(program, kOther), kOther);
  }
  detail::check(graph);
  return graph;
}

// Which instance of a program: what is given of its optional ports, and numbers by name, those of
// scalars, choices and "port.parameter" of finishes.
struct Instance {
  std::set<std::string> given;
  std::map<std::string, double> numbers;
};

// Of all optional ports.
Instance everything(const ProgramView& program);

template <class P>
Graph run_instance(const Instance& instance) {
  P program{};
  for_each_port(program, [&](auto& port, auto index) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    using Element = typename PortType::Element;
    const std::string name = P::port_names.name[index];
    port.given = !PortType::kOptional || instance.given.contains(name);
    const auto number = [&](const std::string& of, double otherwise) {
      const auto found = instance.numbers.find(of);
      return found == instance.numbers.end() ? otherwise : found->second;
    };
    if constexpr (PortType::kKind == PortKind::kScalar) {
      port.value = detail::from_number<Element>(number(name, detail::to_number(port.value)));
    } else if constexpr (PortType::kKind == PortKind::kPerRowFrom) {
      coda::detail::with_members(port.finish, [&](auto&... parameter) {
        int i = 0;
        ((parameter = static_cast<float>(
              number(name + "." + PortType::Finish::parameter_names[i++], parameter))),
         ...);
      });
    }
  });
  return run(program);
}

}  // namespace coda::trace
