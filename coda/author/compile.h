// coda::compile: one program on one kernel configuration, compiled for the GPU while the process
// runs, with NVRTC, and kept on disk. Needs no GPU.
#pragma once
#include <filesystem>
#include <string>

#include "coda/kernel/config.h"

namespace coda {

// A kernel by the names that C++ has for its parts.
struct KernelSource {
  std::filesystem::path program;  // the header that defines it; none: `text` does
  std::string text = {};
  std::string type;     // "::ScaledRelu<coda::bf16>"
  std::string operand;  // "coda::bf16" or "coda::fp16"
  int tile = 1;         // place in kernel::kTileConfigs
  kernel::OperandMajor a = kernel::OperandMajor::kContraction;
  kernel::OperandMajor b = kernel::OperandMajor::kContraction;
  uint32_t given = 0;   // optional ports that it has, by place
  uint32_t either = 0;  // those that it takes given or not
  bool slices = false;  // whether its contraction may be cut
};

struct CompiledKernel {
  static constexpr const char* kFunction = "coda_kernel";  // its name in the cubin

  std::string cubin;
  int registers = 0;
  int spilled_bytes = 0;  // of registers that there were too few of; 0 in a fast kernel
  bool from_cache = false;
  double seconds = 0;  // that it took
};

// Throws coda::Error with the author's line where the program does not compile, coda::DeviceError
// where there is no NVRTC.
CompiledKernel compile(const KernelSource& source, const std::string& architecture = "sm_90a");

}  // namespace coda
