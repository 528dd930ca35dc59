// A program filled in by port names, for callers that know tensors at run time only (C API, command
// line). Host only.
#pragma once
#include <span>

#include "coda/program/describe.h"

namespace coda {

struct Argument {
  std::string name;                 // of a port, or "port.parameter" of what finishes a PerRowFrom
  std::vector<TensorView> tensors;  // one per segment
  double number = 0;                // where there is no tensor
};

// The type-independent half of bind(): every argument names a port or parameter, once, with the
// right type.
void check_arguments(const ProgramView& program, std::span<const std::string> parameters,
                     std::span<const Argument> arguments);
// Throws coda::Error where a scalar of integers is given a number that is none.
void check_number(const std::string& operation, const PortView& port, double number);
const Argument* find_argument(std::span<const Argument> arguments, const std::string& name);

namespace detail {
template <class P>
std::vector<std::string> parameter_names(const P& program) {
  std::vector<std::string> result;
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    if constexpr (PortType::kKind == PortKind::kPerRowFrom) {
      for (const char* name : PortType::Finish::parameter_names) {
        result.push_back(std::string(P::port_names.name[index]) + "." + name);
      }
    }
  });
  return result;
}

// A view to write is made from a const pointer: the caller of an operation by name hands over all
// tensors alike.
template <class T>
Matrix<T> restore(const TensorView& view) {
  const bool as_floats = dtype_of<T> == DType::kState && view.dtype == DType::kFp32;
  const int64_t count = as_floats ? sizeof(T) / sizeof(float) : 1;
  return {static_cast<T*>(const_cast<void*>(view.data)), view.rows, view.columns / count,
          view.ld / count, view.major};
}
}  // namespace detail

// Throws coda::Error for an unknown, doubled or wrongly typed argument. Missing ones are left to
// validate().
template <class P>
P bind(std::span<const Argument> arguments) {
  static const ProgramView expected = describe(P{});
  static const std::vector<std::string> parameters = detail::parameter_names(P{});
  check_arguments(expected, parameters, arguments);
  P program{};
  for_each_port(program, [&](auto& port, auto index) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    using Element = typename PortType::Element;
    const std::string name = P::port_names.name[index];
    const Argument* argument = find_argument(arguments, name);
    if constexpr (PortType::kKind == PortKind::kPerRowFrom) {
      detail::with_members(port.finish, [&](auto&... parameter) {
        int i = 0;
        ((parameter =
              [&, value = parameter] {
                const Argument* given =
                    find_argument(arguments, name + "." + PortType::Finish::parameter_names[i++]);
                return given != nullptr ? static_cast<float>(given->number) : value;
              }()),
         ...);
      });
    }
    if (argument == nullptr) return;
    port.given = true;
    if constexpr (PortType::kKind == PortKind::kScalar) {
      if (argument->tensors.empty()) {
        if constexpr (FloatElement<Element>) {
          port.value = from_float<Element>(static_cast<float>(argument->number));
        } else {
          port.value = static_cast<Element>(argument->number);
        }
      } else {
        port.pointer = static_cast<const Element*>(argument->tensors[0].data);
      }
    } else {
      using Stored = std::remove_pointer_t<decltype(port.view[0].data)>;
      for (int i = 0; i < PortType::kSegments; ++i)
        port.view[i] = detail::restore<Stored>(argument->tensors[i]);
    }
  });
  return program;
}

}  // namespace coda
