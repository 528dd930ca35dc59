#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include "coda/catalogue/operation.h"
#include "coda/plan/tuning.h"
#include "coda/tools/command_line.h"
#if defined(CODA_HAS_CUDA)
#include "coda/tools/cuda_device.h"
#endif
#include "coda/tools/machine.h"
#include "coda/tools/openblas.h"
#include "coda/version.h"

namespace coda::tools {
namespace {

std::string gpu_text() {
#if defined(CODA_HAS_CUDA)
  return cuda_device_name();
#else
  return "none: this build has no GPU backend";
#endif
}

std::string tuning_text() {
  const plan::TuningCache* tuning = plan::tuning_in_use();
  if (tuning == nullptr) return "none: kernels are chosen by prediction";
  return fmt::format("{} choices from CODA_TUNING_CACHE", tuning->size());
}

void info() {
  std::vector<std::string> isas;
  for (const cpu::Isa isa : cpu::available_isas()) isas.emplace_back(cpu::isa_name(isa));
  const auto line = [](const char* what, const std::string& text) {
    fmt::print("{:<16}{}\n", what, text);
  };
  line("version", kVersion);
  line("commit", kCommit);
  line("compiler", compiler_name());
  line("cpu", cpu_model());
  line("cores", fmt::format("{}", cpu_cores()));
  line("threads", fmt::format("{} (OpenMP's default)", omp_get_max_threads()));
  line("instructions",
       fmt::format("{}; used: {}", fmt::join(isas, ", "), cpu::isa_name(cpu::default_isa())));
  line("bf16 dot", cpu::has_bf16_dot() ? "yes (AVX512-BF16)" : "no");
  line("backends", fmt::format("{}", fmt::join(backends(), ", ")));
  line("gpu", gpu_text());
  line("tuning", tuning_text());
  line("operations", fmt::format("{}", catalogue::operations().size()));
  line("openblas", has_openblas() ? openblas_name() : "not built in");
}

}  // namespace

void add_info(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand("info", "Version, processor, backends");
  command->callback(info);
}

}  // namespace coda::tools
