#include "coda/author/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <regex>
#include <sstream>
#include <vector>

#include "coda/author/diagnostics.h"
#include "coda/author/includes.h"
#include "coda/author/kernel_cache.h"
#include "coda/author/nvrtc.h"
#include "coda/author/toolchain.h"
#include "coda/core/error.h"
#include "coda/core/sha256.h"

namespace coda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "coda_kernel.cu";

std::string definition(const KernelSource& source) {
  if (source.program.empty()) return source.text;
  return fmt::format("#include \"{}\"", fs::absolute(source.program).lexically_normal().string());
}

std::string source_text(const KernelSource& source) {
  const auto major = [](kernel::OperandMajor value) {
    return value == kernel::OperandMajor::kContraction ? "kContraction" : "kRows";
  };
  return fmt::format(
      R"(#include "coda/kernel/gemm.h"
{}
using Kernel = coda::kernel::KernelTraits<{}, {}, {}, coda::kernel::OperandMajor::{},
                                          coda::kernel::OperandMajor::{}, {}u, {}, {}u>;
extern "C" __global__ void __launch_bounds__(coda::kernel::kThreads, 1)
    {}(const __grid_constant__ coda::kernel::Arguments<Kernel::Program> arguments) {{
  coda::kernel::gemm_block<Kernel>(arguments);
}}
)",
      definition(source), source.type, source.operand, source.tile, major(source.a),
      major(source.b), source.given, source.slices, source.either, CompiledKernel::kFunction);
}

// ptxas's account: "Used 168 registers", "16 bytes spill stores".
int number_before(const std::string& log, const char* pattern) {
  std::smatch match;
  return std::regex_search(log, match, std::regex(pattern)) ? std::stoi(match[1].str()) : 0;
}

CompiledKernel from_entry(const std::string& entry) {
  CompiledKernel kernel;
  std::istringstream stream(entry);
  stream >> kernel.registers >> kernel.spilled_bytes;
  kernel.cubin = entry.substr(entry.find('\n') + 1);
  return kernel;
}

}  // namespace

CompiledKernel compile(const KernelSource& source, const std::string& architecture) {
  const auto start = std::chrono::steady_clock::now();
  const author::Nvrtc& nvrtc = author::Nvrtc::get();
  const std::string text = source_text(source);
  const std::vector<fs::path> own{author::find_headers(), author::find_generated_headers()};
  std::vector<std::string> options{"--gpu-architecture=" + architecture, "--std=c++20",
                                   "--device-as-default-execution-space", "--ptxas-options=-v",
                                   "--dopt=on"};
  author::Includes includes(own);
  includes.add(text, source.program.parent_path());
  std::string made_of = fmt::format("NVRTC {}\n{}\n{}", nvrtc.version(), text, includes.contents());
  for (const std::string& option : options) made_of += option + "\n";
  const std::string key = sha256(made_of);
  const author::KernelCache cache = author::KernelCache::standard();
  const auto finished = [&](CompiledKernel kernel) {
    kernel.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return kernel;
  };
  if (const auto entry = cache.find(key)) {
    CompiledKernel kernel = from_entry(*entry);
    kernel.from_cache = true;
    return finished(std::move(kernel));
  }
  for (const fs::path& folder : own) options.push_back("--include-path=" + folder.string());
  const author::NvrtcResult result = nvrtc.compile(text, kName, options);
  if (!result.compiled) {
    std::vector<fs::path> files;  // none where the program came as text
    if (!source.program.empty()) files.push_back(fs::absolute(source.program).lexically_normal());
    throw Error(fmt::format("{}: NVRTC does not compile it:\n{}", source.type,
                            author::author_messages(result.log, files)));
  }
  const int registers = number_before(result.log, R"(Used (\d+) registers)");
  const int spilled = number_before(result.log, R"((\d+) bytes spill stores)");
  const std::string entry = fmt::format("{} {}\n{}", registers, spilled, result.cubin);
  cache.keep(key, entry);
  return finished(from_entry(entry));
}

}  // namespace coda
