#include "coda/trace/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"

namespace coda::trace {

int checked_place(const char* program, int place) {
  if (place < 0) {
    throw Error(fmt::format(
        "{}: it uses a port that is none of its members; load, store and reduce take the ports of "
        "the program itself, not copies of them",
        program));
  }
  return place;
}

void add_output(std::vector<Output>& outputs, const Builder& builder, const char* program,
                const char* port, Output output) {
  for (const Output& before : outputs) {
    if (before.port != output.port) continue;
    throw Error(fmt::format(
        "{}: writes to '{}' twice; a port takes one value for each element, select(mask, a, b) "
        "chooses between two",
        program, port));
  }
  for (const int value : output.values) {
    const Node& node = builder.node(value);
    if (node.kind == NodeKind::kConstant && std::isnan(node.value)) {
      throw Error(fmt::format("{}: '{}' is given NaN, whatever the input", program, port));
    }
  }
  outputs.push_back(std::move(output));
}

Instance everything(const ProgramView& program) {
  Instance result;
  for (const PortView& port : program.ports) {
    if (port.optional) result.given.insert(port.name);
  }
  return result;
}

namespace detail {

std::string type_in(std::string signature) {
  // "std::string coda::...::type_name() [with T = coda::Sum; std::string = ...]", or clang's
  // "[T = coda::Sum]".
  const size_t begin = signature.find("T = ") + 4;
  return signature.substr(begin, signature.find_first_of(";]", begin) - begin);
}

void merge_segments(Graph& graph) {
  const auto same = [](const Output& a, const Output& b) {
    return a.port == b.port && a.values == b.values;
  };
  const auto& first = graph.segments.front();
  for (const auto& outputs : graph.segments) {
    if (!std::ranges::equal(outputs, first, same)) return;
  }
  graph.segments.resize(1);
}

void check(const Graph& graph) {
  for (size_t i = 0; i < graph.program.ports.size(); ++i) {
    const PortView& port = graph.program.ports[i];
    if (is_input(port.kind) || (port.optional && !port.given)) continue;
    for (const auto& outputs : graph.segments) {
      if (std::ranges::count(outputs, static_cast<int>(i), &Output::port) > 0) continue;
      throw Error(fmt::format(
          "{}: never writes to '{}'; a port that is not always written is Optional<...>, and left "
          "out where it is not",
          graph.program.name, port.name));
    }
  }
}

Graph with_head_dim(const Graph& graph, int head_dim, const Graph& other, int other_head_dim) {
  const auto fail = [&] {
    throw Error(fmt::format(
        "{}: a graph knows head_dim() as a number to multiply or divide with; this program uses it "
        "in another way",
        graph.program.name));
  };
  if (graph.nodes.size() != other.nodes.size()) fail();
  Graph result = graph;
  result.nodes.clear();
  Builder builder(result.nodes);
  std::vector<int> place;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &one = graph.nodes[i], &two = other.nodes[i];
    Node alike = two;
    alike.value = one.value;
    if (one.kind == NodeKind::kConstant && !std::isnan(one.value)) {
      if (!(one == alike)) fail();
    }
    if (one.kind != NodeKind::kConstant || one.value == two.value || std::isnan(one.value)) {
      place.push_back(builder.copy(one, place));
      continue;
    }
    const double over = one.value / head_dim, times = one.value * head_dim;
    const auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(a); };
    if (near(over, two.value / other_head_dim)) {
      place.push_back(builder.multiply(builder.constant(over), builder.head_dim()));
    } else if (near(times, two.value * other_head_dim)) {
      place.push_back(builder.divide(builder.constant(times), builder.head_dim()));
    } else {
      fail();
    }
  }
  for (auto& outputs : result.segments) {
    for (Output& output : outputs) {
      for (int& value : output.values) value = place[static_cast<size_t>(value)];
    }
  }
  return result;
}

}  // namespace detail
}  // namespace coda::trace
