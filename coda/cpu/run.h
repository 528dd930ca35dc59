// Runs a program on the CPU: all cores, the epilogue on a tile while it is in cache. Same bits for
// every number of threads.
#pragma once
#include <optional>

#include "coda/core/error.h"
#include "coda/cpu/epilogue.h"
#include "coda/cpu/prefetch.h"

namespace coda::cpu {

struct Options {
  int threads = 0;              // 0: OpenMP's default
  std::optional<Isa> isa = {};  // default_isa() if left out
};

// Throws coda::Error naming the operation where it is not available here.
Isa chosen_isa(const char* operation, const Options& options);

// The type-independent half of run(): the problem has been validated.
void execute(const Problem& problem, const OperandView& a, const OperandView& b,
             const ProgramRun& program, const Options& options);

// accumulator_i = A·B_iᵀ, then the program on every tile. A [M, K], B [N, K] (operand.h says how
// views make them up). Throws coda::Error before anything is written where an argument does not
// fit.
template <class P>
void run(const P& program, const OperandView& a, const OperandView& b,
         const Options& options = {}) {
  const Problem problem = validate(describe(program), a, b);
  execute(problem, a, b, program_run(program), options);
}

}  // namespace coda::cpu
