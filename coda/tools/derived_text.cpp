#include "coda/tools/derived_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "coda/trace/print_cpp.h"

namespace coda::tools {
namespace {

std::map<std::string, std::string> comments_of(const trace::Derived& derived,
                                               const ProgramView& forward) {
  std::map<std::string, std::string> comments;
  for (const trace::SavedValue& value : derived.saved) {
    comments[value.port] = value.stored ? "as the forward program stored it"
                                        : "of the forward program, which has to store it";
  }
  for (const PortView& port : derived.graph.program.ports) {
    if (port.name.starts_with("daccumulator")) comments[port.name] = "operand of dX and dW";
    if (!port.name.starts_with("d")) continue;
    for (const PortView& input : forward.ports) {
      if (!is_input(input.kind) || "d" + input.name != port.name) continue;
      if (input.kind == PortKind::kScalar) comments[port.name] = "all of it summed";
      if (input.kind == PortKind::kPerRowFrom) comments[port.name] = "of the finished value";
    }
    if (port.name.ends_with("_terms")) comments[port.name] = "its row sums are the gradient";
  }
  return comments;
}

std::string choices_text(const trace::Derived& derived, const trace::Graph& forward) {
  std::string text = "// Saved against recomputed:\n";
  for (const trace::SavedValue& value : derived.saved) {
    text += fmt::format("//   {}: {}·M·N bytes, {}\n", value.port,
                        value.element_bytes * (value.paired ? 2 : 1),
                        value.stored ? "which the forward program stores"
                                     : "which the forward program would have to store");
  }
  if (derived.saved.empty()) text += fmt::format("//   nothing is saved\n");
  if (derived.accumulator != "forward") {
    text += fmt::format(
        "//   or, with --accumulator-is forward, no bytes: the GEMM again, 2·M·N·K·{} "
        "operations\n",
        forward.program.accumulators);
  }
  text += fmt::format("//   everything else is computed from these and the ports again.\n");
  for (size_t i = 0; i < forward.facts.size() && !derived.saved.empty(); ++i) {
    const auto& reduction = forward.facts[i].reduction;
    const std::string& name = forward.program.ports[i].name;
    const bool compares =
        reduction != nullptr && reduction->type == "coda::Max" &&
        std::ranges::count(derived.graph.program.ports, name, &PortView::name) > 0;
    if (!compares) continue;
    text += fmt::format(
        "// The element that {} is the maximum of is found among values that were rounded when\n"
        "// they were saved: --accumulator-is forward compares them as they were.\n",
        name);
  }
  return text;
}

// The headers of coda, and where a type is the author's own, the author's.
std::string includes_of(const trace::Graph& graph, const catalogue::Operation& operation) {
  const bool turns = std::ranges::any_of(graph.nodes, [](const trace::Node& node) {
    return node.kind == trace::NodeKind::kApply &&
           (node.function == trace::Function::kCosine || node.function == trace::Function::kSine);
  });
  const auto is_own = [](const std::string& type) { return !type.starts_with("coda::"); };
  const bool own = std::ranges::any_of(graph.facts, [&](const trace::PortFacts& facts) {
    return (facts.reduction != nullptr && is_own(facts.reduction->type)) ||
           (facts.finish != nullptr && is_own(facts.finish->type));
  });
  std::string text = "#pragma once\n";
  if (turns) text += "#include <coda/program/angle.h>\n";
  text += "#include <coda/program/program.h>\n";
  // As the command named it.
  if (own) {
    text +=
        fmt::format("\n// Found from the folder that the command was given in.\n#include \"{}\"\n",
                    operation.file);
  }
  return text;
}

// Which of several programs was derived: what was chosen and left out; empty where there is no
// choice.
std::string instance_text(const trace::Graph& forward) {
  std::vector<std::string> chosen;
  for (size_t i = 0; i < forward.program.ports.size(); ++i) {
    const PortView& port = forward.program.ports[i];
    if (port.choices > 0) {
      chosen.push_back(fmt::format("with {} = {}", port.name, forward.facts[i].number));
    } else if (port.optional && is_input(port.kind) && !port.given) {
      chosen.push_back("without " + port.name);
    }
  }
  if (chosen.empty()) return "";
  return fmt::format("Of the program {} (--number, --with).\n", fmt::join(chosen, ", "));
}

}  // namespace

std::string derived_text(const trace::Derived& derived, const trace::Graph& forward,
                         const catalogue::Operation& operation) {
  const std::string runs =
      derived.accumulator == "forward"
          ? "It runs in the epilogue of the forward GEMM, made again."
          : fmt::format("It runs in the epilogue of the GEMM whose result is {}.",
                        derived.accumulator);
  const trace::PrintOptions print{trace::camel_case(operation.name + "_backward"),
                                  fmt::format("The gradient of {}, derived from its program.\n{}{}",
                                              operation.name, instance_text(forward), runs),
                                  comments_of(derived, forward.program)};
  trace::Graph graph = derived.graph;
  graph.program.name = operation.name + "_backward";  // as its file has to be called
  return fmt::format("{}\n{}{}", includes_of(graph, operation), choices_text(derived, forward),
                     trace::print_cpp(graph, print));
}

}  // namespace coda::tools
