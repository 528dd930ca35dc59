#include "coda/tools/cuda_kernels.h"

#include "coda/plan/choose.h"

namespace coda::tools {

ProgramView given_ports(const catalogue::Variant& variant, const catalogue::Call& call) {
  ProgramView program = variant.program;
  for (PortView& port : program.ports) {
    port.given = port.given || find_argument(call.arguments, port.name) != nullptr;
  }
  return program;
}

std::vector<const plan::KernelEntry*> fitting_kernels(const catalogue::Variant& variant,
                                                      const catalogue::Call& call) {
  std::vector<const plan::KernelEntry*> result;
  const ProgramView program = given_ports(variant, call);
  for (const plan::KernelEntry& kernel : variant.cuda_kernels()) {
    if (plan::fits(kernel, program, call.a, call.b)) result.push_back(&kernel);
  }
  return result;
}

}  // namespace coda::tools
