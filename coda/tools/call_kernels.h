// The kernels that a call can run on, of the GPU or of its simulator.
#pragma once
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

// The variant's program as seen from outside, with what the call gives.
ProgramView given_ports(const catalogue::Variant& variant, const catalogue::Call& call);

// Those of `kernels` that are compiled for the call's types, majors and optional ports, and, where
// there is more than one, for slices of the contraction.
std::vector<const plan::KernelEntry*> fitting_kernels(std::span<const plan::KernelEntry> kernels,
                                                      const catalogue::Variant& variant,
                                                      const catalogue::Call& call, int slices = 1);

// No row or no column: nothing is launched.
bool is_empty(const catalogue::Call& call);

}  // namespace coda::tools
