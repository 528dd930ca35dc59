#include "coda/cpu/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "coda/core/error.h"

namespace coda::cpu {

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable: return "portable";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
  }
  return "unknown";
}

bool has_isa(Isa isa) {
  if (static_cast<int>(isa) >= kIsaCount) return false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::kPortable: return __builtin_cpu_supports("ssse3") != 0;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             __builtin_cpu_supports("bmi2") != 0;
    case Isa::kAvx512:
      return has_isa(Isa::kAvx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
  return false;
#else
  return isa == Isa::kPortable;
#endif
}

bool has_bf16_dot() {
#if defined(CODA_HAS_AVX512BF16)
  return has_isa(Isa::kAvx512) && __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

std::vector<Isa> available_isas() {
  std::vector<Isa> result;
  for (int i = 0; i < kIsaCount; ++i) {
    if (has_isa(static_cast<Isa>(i))) result.push_back(static_cast<Isa>(i));
  }
  return result;
}

Isa parse_isa(const std::string& name) {
  std::vector<std::string> names;
  for (const Isa isa : available_isas()) {
    if (name == isa_name(isa)) return isa;
    names.emplace_back(isa_name(isa));
  }
  throw Error(fmt::format("instruction set '{}' is not available here; there are: {}", name,
                          fmt::join(names, ", ")));
}

Isa default_isa() {
  static const Isa isa = [] {
    if (const char* name = std::getenv("CODA_ISA"); name != nullptr && *name != '\0')
      return parse_isa(name);
    const std::vector<Isa> available = available_isas();
    if (available.empty())
      throw Error("this processor lacks the SSSE3 instructions that coda needs");
    return available.back();
  }();
  return isa;
}

}  // namespace coda::cpu
