#include "coda/author/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "coda/author/inspect_group_sums.h"
#include "coda/author/inspect_reductions.h"
#include "coda/core/error.h"

namespace coda::author {
namespace {

// What an argument of a call, a formula or the command line can be called.
void check_names(const ProgramView& program) {
  const std::set<std::string> taken{"A", "B", "head_dim"};
  std::set<std::string> known;
  for (const PortView& port : program.ports) {
    const auto fail = [&](const char* reason) {
      throw Error(fmt::format("{}: port_names: '{}' {}", program.name, port.name, reason));
    };
    if (!std::regex_match(port.name, std::regex("[A-Za-z_][A-Za-z0-9_]*"))) {
      fail("is no name: expected letters, digits and underscores, as the member is called");
    }
    if (taken.contains(port.name)) fail("has a meaning in formulas already: take another name");
    if (!known.insert(port.name).second) fail("stands there twice: every port has its own name");
  }
}

std::vector<trace::Instance> instances_of(const ProgramView& program) {
  const trace::Instance everything = trace::everything(program);
  std::vector<trace::Instance> result{everything, {}};
  for (const PortView& port : program.ports) {
    for (int choice = 0; choice < port.choices; ++choice) {
      result.push_back(everything);
      result.back().numbers[port.name] = choice;
    }
  }
  return result;
}

// But for constants that are NaN, which equal nothing.
bool same_nodes(const trace::Graph& a, const trace::Graph& b) {
  return std::ranges::equal(a.nodes, b.nodes, [](trace::Node x, trace::Node y) {
    if (std::isnan(x.value) && std::isnan(y.value)) x.value = y.value = 0;
    return x == y;
  });
}

bool same_outputs(const trace::Graph& a, const trace::Graph& b) {
  const auto alike = [](const trace::Output& x, const trace::Output& y) {
    return x.port == y.port && x.values == y.values;
  };
  return std::ranges::equal(a.segments, b.segments, [&](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, alike);
  });
}

template <class Wanted>
void require_port(const catalogue::Operation& operation, const std::string& name,
                  const std::string& what, Wanted wanted) {
  std::vector<std::string> known;
  for (const PortView& port : operation.variants[0].program.ports) {
    if (wanted(port)) known.push_back(port.name);
  }
  if (std::ranges::count(known, name) > 0) return;
  throw Error(fmt::format(
      "{}_cases.h: {} '{}': there is none, only {}", operation.name, what, name,
      known.empty() ? "no port of the kind" : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace

void inspect_cases(const catalogue::Operation& operation) {
  using catalogue::Values;
  for (const std::string& name : operation.exact) {
    require_port(operation, name, "exact: output",
                 [](const PortView& port) { return !is_input(port.kind); });
  }
  for (const auto& [name, values] : operation.variants[0].values) {
    // Which way is chosen is drawn from all there are.
    require_port(operation, name, "values: input",
                 [](const PortView& port) { return is_input(port.kind) && port.choices == 0; });
    const bool range =
        values.kind == Values::Kind::kUniform || values.kind == Values::Kind::kInteger;
    const bool right = values.kind == Values::Kind::kGiven ? !values.given.empty()
                                                           : !range || values.low <= values.high;
    if (right) continue;
    throw Error(fmt::format("{}_cases.h: values of '{}': expected {}", operation.name, name,
                            range
                                ? fmt::format("low <= high, got {} and {}", values.low, values.high)
                                : "at least one number"));
  }
}

void inspect(const catalogue::Variant& variant, bool kernels) {
  const ProgramView& program = variant.program;
  check_names(program);
  std::set<int> read;
  for (const trace::Instance& instance : instances_of(program)) {
    const trace::Graph graph = variant.trace(instance), again = variant.trace(instance);
    if (!same_nodes(graph, again) || !same_outputs(graph, again)) {
      throw Error(
          fmt::format("{}: operator() does something else the second time it is run: it "
                      "keeps something in a static or global variable",
                      program.name));
    }
    inspect_reductions(graph);
    if (kernels) inspect_group_sums(graph);
    for (const trace::Node& node : graph.nodes) read.insert(node.port);
  }
  for (size_t i = 0; i < program.ports.size(); ++i) {
    const PortView& port = program.ports[i];
    // A scalar's number may be taken as it is: port.get().
    if (!is_input(port.kind) || port.kind == PortKind::kScalar) continue;
    if (read.contains(static_cast<int>(i))) continue;
    throw Error(
        fmt::format("{}: input '{}' is never read: load it in operator(), or take it out of the "
                    "struct and of port_names",
                    program.name, port.name));
  }
}

}  // namespace coda::author
