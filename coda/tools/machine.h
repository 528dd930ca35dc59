// What this machine and this build are, in words.
#pragma once
#include <optional>
#include <string>

#include "coda/core/types.h"
#include "coda/cpu/isa.h"

namespace coda::tools {

std::string cpu_model();     // "AMD EPYC 9554", or "unknown processor"
int cpu_cores();             // that this process may run on
std::string machine_name();  // model and cores: what a result is labelled with
std::string compiler_name();

// "avx512+bf16dot": what multiplies operands of this type; `isa` may be left out.
std::string config_name(DType operand, std::optional<cpu::Isa> isa);

}  // namespace coda::tools
