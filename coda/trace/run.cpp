#include "coda/trace/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "coda/core/error.h"

namespace coda::trace {

namespace {

// The file relative to the current folder where it lies in it.
std::string text_of(const std::source_location& where) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::relative(where.file_name(), error);
  const bool inside = !error && !relative.string().starts_with("..");
  return fmt::format("{}:{}", inside ? relative.string() : where.file_name(), where.line());
}

}  // namespace

int checked_place(const char* program, int place, const std::source_location& where) {
  if (place >= 0) return place;
  throw Error(
      fmt::format("{}: {}: this port is no member of the program: ports are members of the struct, "
                  "used by their names, not copies of them",
                  program, text_of(where)));
}

void check_nothing_stored(const Written& written, const char* program, const char* port,
                          const std::source_location& where) {
  for (size_t i = 0; i < written.outputs.size(); ++i) {
    if (written.outputs[i].lift != nullptr) continue;  // a reduction takes no tensor's place
    throw Error(fmt::format(
        "{}: {}: '{}' is loaded after the store at {}: load tensors before the first store, an "
        "output may take an input's place",
        program, text_of(where), port, text_of(written.where[i])));
  }
}

void add_output(Written& written, const Builder& builder, const char* program, const char* port,
                Output output, const std::source_location& where) {
  for (size_t i = 0; i < written.outputs.size(); ++i) {
    if (written.outputs[i].port != output.port) continue;
    throw Error(
        fmt::format("{}: output '{}' is written twice, at {} and at {}: write it once; "
                    "coda::select(condition, a, b) picks one of two values",
                    program, port, text_of(written.where[i]), text_of(where)));
  }
  for (const int value : output.values) {
    const Node& node = builder.node(value);
    if (node.kind != NodeKind::kConstant || !std::isnan(node.value)) continue;
    throw Error(fmt::format(
        "{}: {}: output '{}' is given NaN, whatever the input: look for 0/0, ∞ - ∞ or the root of "
        "a negative number among its constants",
        program, text_of(where), port));
  }
  written.outputs.push_back(std::move(output));
  written.where.push_back(where);
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
          "{}: output '{}' is never written: write it in operator(), whatever the choice and the "
          "segment; an output that may be left out is Optional<...>",
          graph.program.name, port.name));
    }
  }
}

Graph with_head_dim(const Graph& graph, int head_dim, const Graph& other, int other_head_dim) {
  const auto fail = [&] {
    throw Error(fmt::format(
        "{}: head_dim() is a number to multiply or divide with, its root too; this program uses it "
        "in another way: give it that number as a Scalar",
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
    // A number times the width, its root, or divided by one of them.
    const double ratio = one.value / two.value, widths = 1.0 * head_dim / other_head_dim;
    const double power = std::round(2 * std::log(ratio) / std::log(widths)) / 2;
    const bool known = std::fabs(power) == 1 || std::fabs(power) == 0.5;
    if (!known || std::fabs(std::pow(widths, power) / ratio - 1) > 1e-6) fail();
    const int factor = builder.constant(one.value / std::pow(head_dim, power));
    const int root = std::fabs(power) == 1 ? builder.head_dim()
                                           : builder.apply(Function::kSqrt, builder.head_dim());
    place.push_back(power > 0 ? builder.multiply(factor, root) : builder.divide(factor, root));
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
