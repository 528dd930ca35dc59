// The kernels that a call can run on.
#pragma once
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

// The variant's program as seen from outside, with what the call gives.
ProgramView given_ports(const catalogue::Variant& variant, const catalogue::Call& call);

// Those that are compiled for the call's types, majors and optional ports.
std::vector<const plan::KernelEntry*> fitting_kernels(const catalogue::Variant& variant,
                                                      const catalogue::Call& call);

}  // namespace coda::tools
