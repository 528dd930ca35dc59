#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "coda/core/error.h"
#include "coda/tools/command_line.h"
#include "coda/tools/explain.h"
#include "coda/trace/derive.h"
#include "coda/trace/print_cpp.h"

namespace coda::tools {
namespace {

struct DeriveCommand {
  std::string operation, variant;
  std::vector<std::string> with, without, numbers;
  trace::DeriveOptions options;
};

std::map<std::string, double> numbers_of(const std::vector<std::string>& texts) {
  std::map<std::string, double> result;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    char* end = nullptr;
    const double value =
        equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
    if (equals == std::string::npos || end == text.c_str() + equals + 1 || *end != '\0') {
      throw Error(fmt::format("'{}' is no number by name, such as activation=1", text));
    }
    result[text.substr(0, equals)] = value;
  }
  return result;
}

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

void print_choices(const trace::Derived& derived, const ProgramView& forward) {
  fmt::print("// Saved against recomputed:\n");
  for (const trace::SavedValue& value : derived.saved) {
    fmt::print("//   {}: {}·M·N bytes, {}\n", value.port,
               value.element_bytes * (value.paired ? 2 : 1),
               value.stored ? "which the forward program stores"
                            : "which the forward program would have to store");
  }
  if (derived.saved.empty()) fmt::print("//   nothing is saved\n");
  if (derived.accumulator != "forward") {
    fmt::print(
        "//   or, with --accumulator-is forward, no bytes: the GEMM again, 2·M·N·K·{} "
        "operations\n",
        forward.accumulators);
  }
  fmt::print("//   everything else is computed from these and the ports again.\n");
}

void run_derive(const DeriveCommand& command) {
  const catalogue::Operation& operation = catalogue::find_operation(command.operation);
  const catalogue::Variant& variant = command.variant.empty()
                                          ? operation.variants.front()
                                          : catalogue::find_variant(operation, command.variant);
  if (variant.trace == nullptr) {
    throw Error(fmt::format("{} is no GEMM program: there is nothing to derive", operation.name));
  }
  trace::Instance instance = usual_instance(variant.program, command.with, command.without);
  instance.numbers = numbers_of(command.numbers);
  for (const auto& [name, value] : instance.numbers) {
    const auto port = std::ranges::find(variant.program.ports, name, &PortView::name);
    if (port != variant.program.ports.end() && port->kind == PortKind::kScalar) continue;
    throw Error(fmt::format("{} has no scalar '{}'; see coda list {}", operation.name, name,
                            operation.name));
  }
  const trace::Graph forward = variant.trace(instance);
  const trace::Derived derived = trace::derive(forward, command.options);
  const std::string runs =
      derived.accumulator == "forward"
          ? "It runs in the epilogue of the forward GEMM, made again."
          : fmt::format("It runs in the epilogue of the GEMM whose result is {}.",
                        derived.accumulator);
  trace::PrintOptions print{trace::camel_case(derived.graph.program.name),
                            fmt::format("The gradient of {} ({}), derived from its program.\n{}",
                                        operation.name, variant.name, runs),
                            comments_of(derived, variant.program)};
  const bool turns = std::ranges::any_of(derived.graph.nodes, [](const trace::Node& node) {
    return node.kind == trace::NodeKind::kApply && node.function == trace::Function::kCosine;
  });
  fmt::print("{}#include \"coda/program/program.h\"\n\nnamespace coda {{\n\n",
             turns ? "#include \"coda/program/angle.h\"\n" : "");
  print_choices(derived, variant.program);
  fmt::print("{}\n}}  // namespace coda\n", trace::print_cpp(derived.graph, print));
}

}  // namespace

void add_derive(CLI::App& app, int&) {
  CLI::App* command =
      app.add_subcommand("derive", "The backward program of an operation, printed as C++");
  auto options = std::make_shared<DeriveCommand>();
  const auto names = [&](const char* option, std::vector<std::string>& to, const char* text) {
    command->add_option(option, to, text)->delimiter(',');
  };
  command->add_option("operation", options->operation, "Operation")->required()->type_name("");
  command->add_option("--variant", options->variant, "Variant; the first if left out");
  command->add_option("--accumulator-is", options->options.accumulator,
                      "dOUT of a Store port, or forward: the forward GEMM again");
  names("--save", options->options.saved, "Store ports that may be read back; all if left out");
  names("--outputs", options->options.outputs, "Outputs that have a gradient");
  names("--gradients", options->options.gradients, "Inputs whose gradient is wanted; -: none");
  names("--with", options->with, "Optional ports that are given");
  names("--without", options->without, "Optional ports that are left out");
  names("--number", options->numbers, "Scalars and choices, such as activation=1");
  command->callback([options] { run_derive(*options); });
}

}  // namespace coda::tools
