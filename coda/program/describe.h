// A program seen from outside: its ports as untyped views, for validation, listings and binding by
// name. Host only.
#pragma once
#include <string>
#include <vector>

#include "coda/program/program.h"

namespace coda {

struct PortView {
  std::string name;
  PortKind kind = PortKind::kStore;
  DType dtype = DType::kFp32;
  int64_t element_bytes = 4;
  int64_t alignment = 4;
  bool optional = false, paired = false, given = false;
  int segments = 1;
  int partial_width = 0;                 // of reductions
  TensorView view[kMaxSegments];         // of everything but scalars
  const void* scalar_pointer = nullptr;  // of scalars, where not given by value
  int choices = 0;                       // of a Choice: how many
  int32_t choice = 0;                    // which one
  int32_t usual = 0;                     // and which one kernels without a branch are for
  // Where the kind says no more than in or out, of operations that are no GEMM program:
  std::string shape = {};  // "[V, h]"
  bool updated = false;    // an output that may be read first
};

struct ProgramView {
  std::string name;
  int accumulators = 1;
  bool groups = false;
  bool halves = false;  // B has to come as halves of heads
  std::vector<PortView> ports;
};

template <class P>
ProgramView describe(const P& program) {
  static_assert(check_program<P>());
  ProgramView result{
      name_of<P>(), accumulators_of<P>(), groups_of<P>(), detail::takes_halves<P>(), {}};
  for_each_port(program, [&](const auto& port, auto index) {
    using PortType = std::remove_cvref_t<decltype(port)>;
    using Element = typename PortType::Element;
    PortView view;
    view.name = P::port_names.name[index];
    view.kind = PortType::kKind;
    view.dtype = dtype_of<Element>;
    view.element_bytes = sizeof(Element);
    view.alignment = alignof(Element);
    view.optional = PortType::kOptional;
    view.paired = PortType::kPaired;
    view.given = port.given;
    view.segments = PortType::kSegments;
    if constexpr (PortType::kKind == PortKind::kScalar) {
      view.scalar_pointer = port.pointer;
      if constexpr (requires { PortType::kChoices; }) {
        view.choices = PortType::kChoices;
        view.choice = port.value;
        view.usual = static_cast<int32_t>(PortType::kUsual);
      }
    } else {
      for (int i = 0; i < PortType::kSegments; ++i) view.view[i] = erase(port.view[i]);
    }
    if constexpr (ReducePort<PortType>) view.partial_width = PortType::kWidth;
    result.ports.push_back(view);
  });
  return result;
}

const char* kind_name(PortKind kind);          // "PerRow", ...
std::string shape_name(const PortView& port);  // "[M, N]", "[⌈N/64⌉, M]", ...

}  // namespace coda
