#include "coda/author/bound_program.h"

#include <cstring>

namespace coda::author {
namespace {

// Ports differ in what their type says, not in what they hold.
template <class... P>
constexpr bool hold_the_same() {
  return ((sizeof(P) == sizeof(Store<float>) && alignof(P) == alignof(Store<float>)) && ...);
}
static_assert(hold_the_same<PerElement<const bf16>, PerRow<const float>, PerRow<const int64_t>,
                            PerColumn<const fp16>, Store<bf16>, RowReduce<Sum>,
                            RowReduce<LogSumExp>, ColumnReduce<Sum>, ColumnReduce<LogSumExp>>());

size_t port_bytes(const PortView& port) {
  return port.kind == PortKind::kScalar ? sizeof(Scalar<float>) : sizeof(Store<float>);
}

// Numbers of a state may be passed one after the other, as floats.
TensorView in_elements(const PortView& port, TensorView view) {
  if (port.dtype == DType::kState && view.dtype == DType::kFp32) {
    const int64_t numbers = port.element_bytes / dtype_bytes(DType::kFp32);
    view.columns /= numbers;
    view.ld /= numbers;
  }
  view.dtype = port.dtype;
  view.element_bytes = port.element_bytes;
  return view;
}

}  // namespace

size_t program_bytes(const ProgramView& program) {
  size_t bytes = 0;
  for (const PortView& port : program.ports) bytes += port_bytes(port);
  return bytes;
}

BoundProgram::BoundProgram(const ProgramView& program, std::span<const Argument> arguments)
    : view_(program) {
  for (PortView& port : view_.ports) port.given = false;
  check_arguments(view_, {}, arguments);
  std::byte* to = bytes_.data();
  for (PortView& port : view_.ports) {
    const Argument* argument = find_argument(arguments, port.name);
    port.given = argument != nullptr;
    if (port.kind == PortKind::kScalar) {
      Scalar<float> scalar;
      if (argument != nullptr && argument->tensors.empty()) {
        scalar = Scalar<float>(static_cast<float>(argument->number));
      } else if (argument != nullptr) {
        scalar = Scalar<float>(static_cast<const float*>(argument->tensors[0].data));
        port.scalar_pointer = scalar.pointer;
      }
      std::memcpy(to, &scalar, sizeof(scalar));
    } else if (argument != nullptr && !argument->tensors.empty()) {
      port.view[0] = in_elements(port, argument->tensors[0]);
      const TensorView& view = port.view[0];
      const Store<float> tensor(Matrix<float>(static_cast<float*>(const_cast<void*>(view.data)),
                                              view.rows, view.columns, view.ld, view.major));
      std::memcpy(to, &tensor, sizeof(tensor));
    }
    to += port_bytes(port);
  }
}

}  // namespace coda::author
