// `coda check --model`: small models of every family, whole: gradients, reruns, parts of a batch and
// training steps.
#pragma once
#include "coda/tools/check.h"

namespace coda::tools {

// Random weights, tokens and targets, fixed sizes. On the CPU the fp32 gradients are compared with
// differences of the loss; on the backend the bf16 ones with those: their error may be twice that of
// bf16 on the CPU.
CheckResult check_model(const std::string& backend, uint64_t seed);

}  // namespace coda::tools
