#include "coda/program/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"

namespace coda {

namespace {

// One tensor for one segment of a port. The states of a reduction may be passed as floats, one
// after the other.
void check_tensor(const std::string& operation, const PortView& port, const TensorView& tensor) {
  const bool as_floats = port.dtype == DType::kState && tensor.dtype == DType::kFp32;
  if (tensor.dtype != port.dtype && !as_floats) {
    fail_argument(operation, port.name, fmt::format("elements of type {}", dtype_name(port.dtype)),
                  dtype_name(tensor.dtype));
  }
  if (port.kind == PortKind::kScalar &&
      (tensor.data == nullptr || tensor.rows != 1 || tensor.columns != 1)) {
    fail_argument(operation, port.name, "a tensor of one element",
                  tensor.data == nullptr ? "a null pointer"
                                         : fmt::format("[{}, {}]", tensor.rows, tensor.columns));
  }
  if (port.dtype != DType::kState) return;
  if (!as_floats && tensor.element_bytes != port.element_bytes) {
    fail_argument(operation, port.name, fmt::format("states of {} bytes", port.element_bytes),
                  fmt::format("{}", tensor.element_bytes));
  }
  const int64_t floats = port.element_bytes / dtype_bytes(DType::kFp32);
  if (as_floats && (tensor.columns % floats != 0 || (tensor.rows > 1 && tensor.ld % floats != 0))) {
    fail_argument(
        operation, port.name,
        fmt::format("rows, and a leading dimension, of whole states of {} floats", floats),
        fmt::format("{} and {}", tensor.columns, tensor.ld));
  }
}

// Of what finishes a port from partials: "rstd.width", "rstd.epsilon".
void check_parameter(const std::string& operation, const Argument& argument) {
  const auto number = static_cast<float>(argument.number);  // as it is used
  if (argument.name.ends_with(".width") && !(number > 0 && std::isfinite(number))) {
    fail_argument(operation, argument.name, "a number above 0", fmt::format("{}", argument.number));
  }
  if (argument.name.ends_with(".epsilon") && !(number >= 0 && std::isfinite(number))) {
    fail_argument(operation, argument.name, "a number, 0 or more",
                  fmt::format("{}", argument.number));
  }
}

}  // namespace

void check_number(const std::string& operation, const PortView& port, double number) {
  const double limit = port.dtype == DType::kInt32 ? 0x1p31 : 0x1p63;
  if (is_integer(port.dtype) &&
      !(number >= -limit && number < limit && number == std::floor(number))) {
    fail_argument(operation, port.name, fmt::format("a number of type {}", dtype_name(port.dtype)),
                  fmt::format("{}", number));
  }
}

const Argument* find_argument(std::span<const Argument> arguments, const std::string& name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found == arguments.end() ? nullptr : &*found;
}

void check_arguments(const ProgramView& program, std::span<const std::string> parameters,
                     std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (std::ranges::count(arguments, argument.name, &Argument::name) > 1) {
      fail_argument(program.name, argument.name, "one argument of that name", "several");
    }
    if (std::ranges::count(parameters, argument.name) > 0) {
      if (!argument.tensors.empty())
        fail_argument(program.name, argument.name, "a number", "a tensor");
      check_parameter(program.name, argument);
      continue;
    }
    const auto port = std::ranges::find(program.ports, argument.name, &PortView::name);
    if (port == program.ports.end()) {
      std::vector<std::string> known;
      for (const PortView& p : program.ports) known.push_back(p.name);
      known.insert(known.end(), parameters.begin(), parameters.end());
      fail_argument(program.name, argument.name, fmt::format("one of {}", fmt::join(known, ", ")),
                    "an unknown name");
    }
    const bool scalar = port->kind == PortKind::kScalar;
    if (argument.tensors.empty() && !scalar)
      fail_argument(program.name, argument.name, fmt::format("a tensor {}", shape_name(*port)),
                    "a number");
    if (!argument.tensors.empty() && static_cast<int>(argument.tensors.size()) != port->segments) {
      fail_argument(program.name, argument.name, fmt::format("{} segment(s)", port->segments),
                    fmt::format("{}", argument.tensors.size()));
    }
    for (const TensorView& tensor : argument.tensors) check_tensor(program.name, *port, tensor);
    if (argument.tensors.empty()) check_number(program.name, *port, argument.number);
  }
  // What finishes a PerRowFrom has no sensible default: it comes with its port, and only with it.
  for (const std::string& parameter : parameters) {
    const std::string port = parameter.substr(0, parameter.find('.'));
    const bool given = find_argument(arguments, parameter) != nullptr;
    const bool wanted = find_argument(arguments, port) != nullptr;
    if (wanted && !given) {
      fail_argument(program.name, parameter, fmt::format("a number beside '{}'", port), "nothing");
    }
    if (given && !wanted) {
      fail_argument(program.name, parameter, fmt::format("'{}' beside it", port), "nothing");
    }
  }
}

}  // namespace coda
