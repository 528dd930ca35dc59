#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "coda/core/error.h"
#include "coda/tools/command_line.h"
#include "coda/tools/derived_text.h"
#include "coda/tools/explain.h"
#include "coda/tools/named_operations.h"

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

void check_given(const PortView& port, double value) {
  if (port.choices > 0 && !(value >= 0 && value < port.choices && value == std::floor(value))) {
    throw Error(fmt::format("--number: {} expects a choice, a whole number from 0 to {}, got {}",
                            port.name, port.choices - 1, value));
  }
  if (!std::isfinite(static_cast<float>(value))) {  // as a program has it
    throw Error(
        fmt::format("--number: {} expects a finite number of fp32, got {}", port.name, value));
  }
  check_number("--number", port, value);
}

void derive_one(const catalogue::Operation& operation, const DeriveCommand& command) {
  const catalogue::Variant& variant = named_variant(operation, command.variant);
  if (variant.trace == nullptr) {
    throw Error(fmt::format("{} is no GEMM program: there is nothing to derive", operation.name));
  }
  trace::Instance instance = usual_instance(variant.program, command.with, command.without);
  instance.numbers = numbers_of(command.numbers);
  for (const auto& [name, value] : instance.numbers) {
    const auto port = std::ranges::find(variant.program.ports, name, &PortView::name);
    if (port == variant.program.ports.end() || port->kind != PortKind::kScalar) {
      throw Error(fmt::format("{} has no scalar '{}'; it has the ports {}", operation.name, name,
                              port_list(variant.program)));
    }
    check_given(*port, value);
  }
  const trace::Graph forward = variant.trace(instance);
  trace::DeriveOptions options = command.options;
  options.operand = variant.operand;
  const trace::Derived derived = trace::derive(forward, options);
  fmt::print("{}", derived_text(derived, forward, operation));
}

void run_derive(const DeriveCommand& command) {
  const NamedOperations operations({command.operation}, "none", command.variant);
  for (const catalogue::Operation* operation : operations.list()) derive_one(*operation, command);
}

}  // namespace

void add_derive(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "derive", "The backward program of an operation or own program, printed as C++");
  auto options = std::make_shared<DeriveCommand>();
  const auto names = [&](const char* option, std::vector<std::string>& to, const char* text) {
    command->add_option(option, to, text)->delimiter(',');
  };
  command
      ->add_option("operation", options->operation,
                   "Operation, or folder or header of own programs")
      ->required()
      ->type_name("");
  command->add_option("--variant", options->variant, "Variant; the first if left out");
  command->add_option("--accumulator-is", options->options.accumulator,
                      "dOUT of a Store port, or forward: the forward GEMM again");
  names("--save", options->options.saved,
        "Store ports that may be read back; all if left out; -: none");
  names("--outputs", options->options.outputs, "Outputs that have a gradient");
  names("--gradients", options->options.gradients, "Inputs whose gradient is wanted; -: none");
  names("--with", options->with, "Optional ports that are given");
  names("--without", options->without, "Optional ports that are left out");
  names("--number", options->numbers, "Scalars and choices, such as activation=1");
  command->callback([options] { run_derive(*options); });
}

}  // namespace coda::tools
