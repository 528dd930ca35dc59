#include "coda/tools/check_backend.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/tools/command_line.h"
#if defined(CODA_HAS_SIMULATOR)
#include "coda/tools/sim_check.h"
#endif
#if defined(CODA_HAS_CUDA)
#include "coda/tools/cuda_check.h"
#endif

namespace coda::tools {
namespace {

CheckBackend cpu_backend(const CheckOptions& options) {
  const auto isas = options.isas.empty() ? cpu::available_isas() : options.isas;
  CheckBackend backend;
  for (const cpu::Isa isa : isas) {
    if (!cpu::has_isa(isa)) {
      throw Error(fmt::format("check: instruction set {} is not available on this machine",
                              cpu::isa_name(isa)));
    }
    backend.configurations.push_back(fmt::format("--isa {}", cpu::isa_name(isa)));
  }
  backend.run = [isas](const CheckRun& run) -> std::string {
    const int threads = run.repetition == 1 ? 1 : 3;
    run.variant.run_cpu(run.call, {.threads = threads, .isa = isas[run.configuration]});
    return fmt::format("{} threads", threads);
  };
  return backend;
}

}  // namespace

CheckBackend make_backend(const CheckOptions& options) {
  require_backend(options.backend);
#if defined(CODA_HAS_SIMULATOR)
  if (options.backend == "sim") return sim_backend({options.seeds, options.kernel, options.slices});
#endif
#if defined(CODA_HAS_CUDA)
  if (options.backend == "cuda") return cuda_backend(options.slices);
#endif
  return cpu_backend(options);
}

}  // namespace coda::tools
