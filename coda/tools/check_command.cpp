#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "coda/core/error.h"
#include "coda/plan/slices.h"
#include "coda/tools/check.h"
#include "coda/tools/check_backend.h"
#include "coda/tools/command_line.h"
#if defined(CODA_HAS_CUDA)
#include "coda/tools/cuda_huge.h"
#endif
#include "coda/terminal/progress.h"
#include "coda/tools/layer_check.h"
#include "coda/tools/model_check.h"
#include "coda/tools/named_operations.h"
#if defined(CODA_HAS_SIMULATOR)
#include "coda/tools/sim_check.h"
#endif

namespace coda::tools {
namespace {

constexpr size_t kFailuresShown = 20;

struct Arguments {
  std::vector<std::string> operations;
  std::string isa;
  CheckOptions options;
  std::optional<int> seeds;
  bool huge = false, layer = false, model = false;
};

CheckBackend backend_for(const CheckOptions& options, const NamedOperations& operations) {
#if defined(CODA_HAS_SIMULATOR)
  if (options.backend == "sim") {
    return sim_backend({options.seeds, options.kernel, options.slices,
                        [&operations](const catalogue::Variant& variant) {
                          return operations.find_simulated(variant);
                        }});
  }
#endif
  static_cast<void>(operations);  // of builds without the simulator
  return make_backend(options);
}

// Whoever names an operation is not to believe that it was checked, where something else was.
void check_asked_alone(const CLI::App& command) {
  for (const std::string mode : {"--huge", "--layer", "--model"}) {
    if (command.count(mode) == 0) continue;
    std::vector<std::string> others;
    for (const CLI::Option* option : command.get_options()) {
      const std::string name = option->get_name();
      const bool counts =
          name == mode || name == "--backend" || (name == "--seed" && mode != "--huge");
      if (option->count() > 0 && !counts) others.push_back(name);
    }
    if (others.empty()) continue;
    throw Error(fmt::format("{}: checks the same whatever else is asked for; leave out {}", mode,
                            fmt::join(others, ", ")));
  }
}

int run_check(const Arguments& arguments) {
  CheckOptions options = arguments.options;
  if ((arguments.seeds || options.kernel) && options.backend != "sim") {
    throw Error(fmt::format("{}: expected --backend sim, got {}",
                            arguments.seeds ? "--seeds" : "--kernel", options.backend));
  }
  if (options.slices &&
      (options.backend == "cpu" || (options.backend == "sim" && *options.slices == 0))) {
    throw Error(fmt::format("--slices {}: expected --backend {}, got {}", *options.slices,
                            *options.slices == 0 ? "cuda" : "sim or cuda", options.backend));
  }
  options.seeds = arguments.seeds.value_or(options.seeds);
  if (arguments.huge) {
#if defined(CODA_HAS_CUDA)
    if (options.backend == "cuda") return report_check(check_huge());
#endif
    throw Error("--huge: expected --backend cuda; the CPU has tests of its own");
  }
  if (arguments.layer) return report_check(check_layer(options.backend, options.seed));
  if (arguments.model) return report_check(check_model(options.backend, options.seed));
  if (!arguments.isa.empty() && options.backend != "cpu") {
    throw Error(fmt::format("--isa: expected --backend cpu, got {}", options.backend));
  }
  if (!arguments.isa.empty()) options.isas = {cpu::parse_isa(arguments.isa)};
  require_backend(options.backend);  // before anything is compiled
  const NamedOperations operations(arguments.operations, options.backend, options.variant);
  CheckResult result;
  {
    std::optional<terminal::Progress> line;
    const auto show = [&](const CheckProgress& progress) {
      if (!line) line.emplace("check", progress.cases);
      line->show(progress.done);
    };
    result = check(operations.list(), options, backend_for(options, operations), show);
  }
  const int status = report_check(result);
  for (const catalogue::Operation* operation : operations.list()) {
    if (operation->reference != nullptr) continue;
    fmt::print(
        "{}: no formula was there to compare with, only the program's own graph in fp64: rounding "
        "and kernels were checked, not what it means; write {}_formula.h\n",
        operation->file, operation->name);
  }
  return status;
}

}  // namespace

int report_check(const CheckResult& result) {
  for (size_t i = 0; i < std::min(result.failures.size(), kFailuresShown); ++i) {
    fmt::print("{}\n", result.failures[i]);
  }
  if (result.failures.size() > kFailuresShown) {
    fmt::print("... and {} more\n", result.failures.size() - kFailuresShown);
  }
  fmt::print("{} passed, {} failed\n", result.passed, result.failed);
  return result.failed == 0 ? kSuccess : kCheckFailed;
}

void add_check(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("check", "Compares operations with their fp64 formulas on random cases");
  auto arguments = std::make_shared<Arguments>();
  CheckOptions& options = arguments->options;
  command
      ->add_option("operation", arguments->operations,
                   "Operations to check, or folders and headers of own programs; "
                   "the whole catalogue if left out")
      ->type_name("");
  const auto option = [&](const char* name, auto& value, const char* type, const char* what) {
    return command->add_option(name, value, what)->type_name(type);
  };
  option("--backend", options.backend, "NAME", "Where to run: cpu, sim, or cuda")
      ->capture_default_str();
  option("--cases", options.cases, "N", "Cases of every operation, dealt to its variants")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000).description(""));
  option("--seed", options.seed, "N", "Which cases")->capture_default_str();
  option("--seeds", arguments->seeds, "N", "Schedules of every case (sim); 5 if left out")
      ->check(CLI::Range(1, 1000000).description(""));
  option("--kernel", options.kernel, "N", "Only this kernel of a variant's manifest, from 0 (sim)");
  option("--slices", options.slices, "N",
         "Only so many slices of the contraction (sim, cuda); 0: as predicted (cuda)")
      ->check(CLI::Range(0, plan::kMaxSlices).description(""));
  option("--variant", options.variant, "NAME", "Only this variant; all if left out");
  option("--isa", arguments->isa, "NAME", "Only this instruction set; all if left out");
  option("--case", options.only_case, "N", "Only this case: a number that a failure named");
  command->add_flag("--huge", arguments->huge, "Only tensors beyond 2^31 elements (cuda)");
  command->add_flag("--layer", arguments->layer,
                    "Only a whole layer, forward and backward (cpu, cuda)");
  command->add_flag("--model", arguments->model,
                    "Only small models, gradients and training steps (cpu, cuda)");
  command->callback([arguments, command, &status] {
    check_asked_alone(*command);
    status = run_check(*arguments);
  });
}

}  // namespace coda::tools
