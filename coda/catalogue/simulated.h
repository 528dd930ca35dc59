// The catalogue's programs in the simulator of the GPU: every kernel of every manifest, compiled by
// the build from <stem>_kernels.h (cmake/simulated.cmake). In coda_simulated, not in libcoda.
#pragma once
#include <typeindex>

#include "coda/catalogue/operation.h"
#include "coda/plan/sim.h"

namespace coda::catalogue {

struct SimulatedProgram {
  std::type_index type;
  void (*enqueue)(const Call& call, const sim::Target& target);
  std::span<const plan::KernelEntry> (*kernels)();
};

template <class P>
SimulatedProgram simulated() {
  return {typeid(P),
          [](const Call& call, const sim::Target& target) {
            sim::enqueue(coda::bind<P>(call.arguments), call.a, call.b, target);
          },
          &sim::kernels_of<P>};
}

std::span<const SimulatedProgram> simulated_programs();

// Of this variant; nothing where no kernel takes its operands.
const SimulatedProgram* find_simulated(const Variant& variant);

}  // namespace coda::catalogue
