// The CPU's half of a program that exists as text: compiled by the machine's C++ compiler for one
// instruction set, kept on disk beside the kernels (kernel_cache.h), loaded for the rest of the
// process.
#pragma once
#include "coda/cpu/epilogue.h"

namespace coda::author {

struct ProgramText {
  std::string name;  // for messages
  std::string text;  // its definition
  std::string type;  // "coda::own::Gated"
  size_t bytes = 0;  // of the struct
};

struct HostEpilogue {
  cpu::EpilogueFunction epilogue = nullptr;
  cpu::PrefetchFunction prefetch = nullptr;
};

// Throws coda::DeviceError that says what is missing, a compiler or headers, and what works without
// it.
HostEpilogue compile_epilogue(const ProgramText& program, cpu::Isa isa);

}  // namespace coda::author
