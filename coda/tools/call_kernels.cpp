#include "coda/tools/call_kernels.h"

#include "coda/plan/choose.h"

namespace coda::tools {

ProgramView given_ports(const catalogue::Variant& variant, const catalogue::Call& call) {
  ProgramView program = variant.program;
  for (PortView& port : program.ports) {
    const Argument* argument = find_argument(call.arguments, port.name);
    port.given = port.given || argument != nullptr;
    if (port.choices > 0 && argument != nullptr) {
      port.choice = static_cast<int32_t>(argument->number);
    }
  }
  return program;
}

std::vector<const plan::KernelEntry*> fitting_kernels(std::span<const plan::KernelEntry> kernels,
                                                      const catalogue::Variant& variant,
                                                      const catalogue::Call& call, int slices) {
  std::vector<const plan::KernelEntry*> result;
  const ProgramView program = given_ports(variant, call);
  for (const plan::KernelEntry& kernel : kernels) {
    if (slices > 1 && kernel.slice_space.empty()) continue;
    if (plan::fits(kernel, program, call.a, call.b)) result.push_back(&kernel);
  }
  return result;
}

bool is_empty(const catalogue::Call& call) {
  const auto none = [](const OperandView& operand) {
    int64_t rows = 0;
    for (int s = 0; s < operand.segments; ++s) rows += operand.part[0][s].rows;
    return rows == 0;
  };
  return none(call.a) || none(call.b);
}

}  // namespace coda::tools
