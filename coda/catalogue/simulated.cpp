#include "coda/catalogue/simulated.h"

#include <algorithm>

namespace coda::catalogue {

const SimulatedProgram* find_simulated(const Variant& variant) {
  const auto takes = [&](const plan::KernelEntry& kernel) {
    return kernel.operand == variant.operand;
  };
  for (const SimulatedProgram& program : simulated_programs()) {
    if (program.type == variant.type && std::ranges::any_of(program.kernels(), takes)) {
      return &program;
    }
  }
  return nullptr;
}

}  // namespace coda::catalogue
