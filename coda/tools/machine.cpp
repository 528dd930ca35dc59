#include "coda/tools/machine.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>

namespace coda::tools {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;  // arm64 kernels give none
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

int cpu_cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

std::string machine_name() { return fmt::format("{}, {} cores", cpu_model(), cpu_cores()); }

std::string compiler_name() {
#if defined(__clang__)
  return __VERSION__;  // begins with its name
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

std::string config_name(DType operand, std::optional<cpu::Isa> isa) {
  const cpu::Isa used = isa.value_or(cpu::default_isa());
  const bool dot = operand == DType::kBf16 && used == cpu::Isa::kAvx512 && cpu::has_bf16_dot();
  return std::string(cpu::isa_name(used)) + (dot ? "+bf16dot" : "");
}

}  // namespace coda::tools
