#include "coda/author/compile.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "coda/author/diagnostics.h"
#include "coda/author/kernel_cache.h"
#include "coda/author/nvrtc.h"
#include "coda/author/toolchain.h"
#include "coda/core/error.h"
#include "coda/core/sha256.h"

namespace coda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "coda_kernel.cu";

std::string quoted(const fs::path& path) { return fmt::format("\"{}\"", path.string()); }

std::string source_text(const KernelSource& source) {
  const auto major = [](kernel::OperandMajor value) {
    return value == kernel::OperandMajor::kContraction ? "kContraction" : "kRows";
  };
  return fmt::format(
      R"(#include "coda/kernel/gemm.h"
#include {}
using Kernel = coda::kernel::KernelTraits<{}, {}, {}, coda::kernel::OperandMajor::{},
                                          coda::kernel::OperandMajor::{}, {}u, {}, {}u>;
extern "C" __global__ void __launch_bounds__(coda::kernel::kThreads, 1)
    {}(const __grid_constant__ coda::kernel::Arguments<Kernel::Program> arguments) {{
  coda::kernel::gemm_block<Kernel>(arguments);
}}
)",
      quoted(fs::absolute(source.program).lexically_normal()), source.type, source.operand,
      source.tile, major(source.a), major(source.b), source.given, source.slices, source.either,
      CompiledKernel::kFunction);
}

// Everything that a text includes, as far as it is found in these folders.
class Includes {
 public:
  explicit Includes(std::vector<fs::path> folders) : folders_(std::move(folders)) {}

  void add(const std::string& text, const fs::path& beside) {
    static const std::regex kInclude(R"(^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"])",
                                     std::regex::multiline);
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kInclude);
         match != std::sregex_iterator(); ++match) {
      find((*match)[1].str(), beside);
    }
  }
  const std::string& contents() const { return contents_; }

 private:
  void find(const std::string& name, const fs::path& beside) {
    std::vector<fs::path> places{beside};
    places.insert(places.end(), folders_.begin(), folders_.end());
    for (const fs::path& folder : places) {
      const fs::path path = (folder / name).lexically_normal();
      if (!fs::is_regular_file(path)) continue;
      if (!seen_.insert(path).second) return;
      std::ifstream file(path);
      std::stringstream stream;
      stream << file.rdbuf();
      const std::string text = stream.str();
      contents_ += fmt::format("{} {}\n{}", name, text.size(), text);
      return add(text, path.parent_path());
    }
  }

  std::vector<fs::path> folders_;
  std::set<fs::path> seen_;
  std::string contents_;
};

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
  Includes includes(own);
  includes.add(text, source.program.parent_path());
  std::string made_of = fmt::format("NVRTC {}\n{}\n{}", nvrtc.version(), text, includes.contents());
  for (const std::string& option : options) made_of += option + "\n";
  for (const fs::path& folder : nvrtc.include()) made_of += folder.string() + "\n";
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
  for (const fs::path& folder : nvrtc.include()) {
    options.push_back("--include-path=" + folder.string());
  }
  const author::NvrtcResult result = nvrtc.compile(text, kName, options);
  if (!result.compiled) {
    const std::array files{fs::absolute(source.program).lexically_normal()};
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
