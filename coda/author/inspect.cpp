#include "coda/author/inspect.h"

#include <fmt/format.h>

#include <regex>
#include <set>

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

}  // namespace

void inspect(const catalogue::Variant& variant) {
  const ProgramView& program = variant.program;
  check_names(program);
  std::set<int> read;
  for (const trace::Instance& instance : instances_of(program)) {
    const trace::Graph graph = variant.trace(instance);
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
