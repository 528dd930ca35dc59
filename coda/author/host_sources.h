// The C++ that stands around an author's program: what compile_host.h hands to the compiler.
#pragma once
#include <span>
#include <string>

#include "coda/author/program_files.h"

namespace coda::author {

// What a program is compiled for.
struct HostTargets {
  bool cpu = true;           // else nothing runs it: its graphs and plans alone
  bool simulator = false;    // of a process that has it (coda_simulated)
  bool gpu = false;          // of a libcoda that was built with CUDA
  std::string variant = {};  // the only one that kernels are compiled for; none: all
};

// Once per instruction set, for all programs in a folder: most of the time goes into what they
// include.
std::string epilogues_source(std::span<const ProgramFiles> programs);

// The operands that an instance's kernels take, as C++ types; type 0: bf16, 1: fp16. Of a program
// that is no template the first instance has all. Empty: there is nothing to compile.
std::string operands(const ProgramFiles& program, size_t type, const HostTargets& targets);

// The kernels of an instance in the simulator.
std::string simulated_source(const ProgramFiles& program, size_t type, const HostTargets& targets);

// The operation, from a function that the shared object shows.
std::string registration_source(const ProgramFiles& program, const HostTargets& targets);
// The same of programs that nothing runs, all of a folder together.
std::string planned_source(std::span<const ProgramFiles> programs);

}  // namespace coda::author
