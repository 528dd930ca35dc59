#include "coda/tools/sim_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "coda/core/random.h"
#include "coda/tools/call_kernels.h"
#include "coda/tools/produced_operand.h"

namespace coda::tools {
namespace {

using catalogue::Variant;

// One cluster of two blocks, so that few tiles are many for a block; or two, which share them.
constexpr int kSmallGpu = 2, kLargeGpu = 4;
constexpr int kSlices[] = {1, 3};

int slices_of(const SimCheck& check, const CheckRun& run) {
  return check.slices.value_or(kSlices[run.configuration]);
}

std::span<const plan::KernelEntry> kernels_of(const SimCheck& check, const Variant& variant) {
  const auto all = check.find(variant)->kernels();
  return check.kernel ? all.subspan(*check.kernel, 1) : all;
}

bool has_kernel(const SimCheck& check, const Variant& variant) {
  const catalogue::SimulatedProgram* program = check.find(variant);
  if (program == nullptr) return false;
  const auto all = program->kernels();
  return !check.kernel ||
         (*check.kernel < all.size() && all[*check.kernel].operand == variant.operand);
}

std::vector<const plan::KernelEntry*> kernels_for(const SimCheck& check, const CheckRun& run) {
  return fitting_kernels(kernels_of(check, run.variant), run.variant, run.call,
                         slices_of(check, run));
}

// The first time, without slices, the kernel that would be chosen; else one after the other, in
// every case from another one on.
const plan::KernelEntry* pick_kernel(const SimCheck& check, const CheckRun& run) {
  if (check.kernel) return &kernels_of(check, run.variant)[0];
  const auto kernels = kernels_for(check, run);
  if (kernels.empty() || (run.repetition == 0 && slices_of(check, run) == 1)) return nullptr;
  return kernels[(run.number + static_cast<uint64_t>(run.repetition)) % kernels.size()];
}

std::string run_sim(const SimCheck& check, const CheckRun& run) {
  const auto repetition = static_cast<uint64_t>(run.repetition);
  const plan::KernelEntry* kernel = pick_kernel(check, run);
  const int multiprocessors = repetition / 2 % 2 == 0 ? kSmallGpu : kLargeGpu;
  std::vector<sim::Launch> stream;
  std::optional<ProducedOperand> a;
  if (repetition % 2 == 1) a.emplace(run.call.a, stream, multiprocessors);
  const int slices = slices_of(check, run);
  check.find(run.variant)->enqueue(run.call, {stream, multiprocessors, kernel, slices});
  if (a) a->forget();
  const std::string special =
      fmt::format("{}, {} multiprocessors, {} slices, {}",
                  kernel == nullptr ? "the chosen kernel" : plan::config_name(kernel->config),
                  multiprocessors, slices, stream.size() > 1 ? "A from a launch before" : "alone");
  try {
    sim::run_stream(stream, {.seed = mix(run.number, repetition), .multiprocessors = kLargeGpu});
  } catch (const sim::Failure& failure) {
    std::string what = failure.what();  // a deadlock has a line for every warp
    std::ranges::replace(what, '\n', ';');
    throw RunFailure(fmt::format("({}): {}", special, what));
  }
  return special;
}

}  // namespace

CheckBackend sim_backend(const SimCheck& check) {
  CheckBackend backend;
  std::string flags = fmt::format("--backend sim --seeds {}", check.seeds);
  if (check.kernel) flags += fmt::format(" --kernel {}", *check.kernel);
  const std::vector<int> several(std::begin(kSlices), std::end(kSlices));
  for (const int slices : check.slices ? std::vector{*check.slices} : several) {
    backend.configurations.push_back(fmt::format("{} --slices {}", flags, slices));
  }
  backend.run = [check](const CheckRun& run) { return run_sim(check, run); };
  backend.repetitions = [check](const CheckRun& run) {
    if (is_empty(run.call)) return 1;
    return slices_of(check, run) > 1 && kernels_for(check, run).empty() ? 0 : check.seeds;
  };
  backend.has = [check](const Variant& variant) { return has_kernel(check, variant); };
  backend.refuses = [check](const CheckRun& run) {
    return !is_empty(run.call) && slices_of(check, run) == 1 && kernels_for(check, run).empty();
  };
  backend.rules.alignment = 16;
  backend.rules.kernels = [check](const Variant& variant) { return kernels_of(check, variant); };
  backend.rules.few_tiles = true;
  backend.defines_nans = false;
  backend.threads = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  return backend;
}

}  // namespace coda::tools
