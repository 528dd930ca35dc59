// Tensors of more than 2^31 elements on the GPU, for which the random cases of `coda check` are too
// small.
#pragma once
#include "coda/tools/check.h"

namespace coda::tools {

// A plain GEMM with a huge output, with one whose lines TMA cannot cut off, and with a huge
// operand, on every kernel that fits; each counts as a case. Takes 15 GB of the GPU's memory.
CheckResult check_huge();

}  // namespace coda::tools
