// Which of a program's kernels runs a problem: of those compiled for its types, majors and given
// ports, the one predicted to be fastest. Pure functions; host only.
#pragma once
#include "coda/plan/predict.h"

namespace coda::plan {

std::string config_name(const kernel::TileConfig& config);  // "pp128x192_s5_c2x1_n32"

// Whether the kernel is compiled for this: operand type, majors, and the optional ports that are
// given, but for those that it takes given or not.
bool fits(const KernelEntry& kernel, const ProgramView& program, const OperandView& a,
          const OperandView& b);

// The fastest by prediction of those that fit; of equals the first. Throws coda::Error that says
// what is not compiled, and what is.
const KernelEntry& choose(std::span<const KernelEntry> kernels, const ProgramView& program,
                          const Problem& problem, const OperandView& a, const OperandView& b,
                          const Device& device);

// The kernel that is asked for, which has to fit; null: the tuned one where there is one
// (tuning.h), else that of choose().
const KernelEntry& pick(const KernelEntry* asked, std::span<const KernelEntry> kernels,
                        const ProgramView& program, const LaunchRequest& request,
                        const Device& device);

}  // namespace coda::plan
