// Instruction sets: files that compute are compiled once for each, and the widest one the processor
// has is taken at run time.
#pragma once
#include <string>
#include <vector>

namespace coda::cpu {

enum class Isa : int {
  kPortable = 0,  // 128-bit vectors: SSSE3 on x86-64, NEON on arm64
  kAvx2 = 1,      // with FMA and F16C
  kAvx512 = 2,    // F, BW, CD, DQ, VL
};

// CODA_CPU_ISAS comes from the build: how many of the above the library holds.
inline constexpr int kIsaCount = CODA_CPU_ISAS;

const char* isa_name(Isa isa);
bool has_isa(Isa isa);  // the library holds it and the processor runs it
bool has_bf16_dot();    // AVX512-BF16 beside kAvx512
std::vector<Isa> available_isas();

// The widest available one, or what the environment variable CODA_ISA names. Throws coda::Error if
// it names none that is available.
Isa default_isa();
Isa parse_isa(const std::string& name);

}  // namespace coda::cpu
