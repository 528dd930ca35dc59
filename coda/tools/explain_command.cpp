#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "coda/core/error.h"
#include "coda/program/check_view.h"
#include "coda/tools/command_line.h"
#include "coda/tools/explain.h"
#include "coda/tools/named_operations.h"

namespace coda::tools {
namespace {

struct ExplainOptions {
  std::string operation, variant, gpu = "h200", regime = "random";
  trace::TrafficShape shape{16384, 4096, 4096, 128, 2};
  std::vector<std::string> with, without;
};

void explain_one(const catalogue::Operation& operation, const ExplainOptions& options,
                 const Gpu& gpu, plan::Regime regime) {
  const catalogue::Variant& variant = named_variant(operation, options.variant);
  trace::TrafficShape shape = options.shape;
  shape.operand_bytes = dtype_bytes(variant.operand);
  const Explanation explanation = explain(
      variant, usual_instance(variant.program, options.with, options.without), shape, gpu, regime);
  const std::string about = operation.file.empty()
                                ? fmt::format("{}\n  {}", operation.summary, operation.formula)
                                : operation.file;
  fmt::print("{} {}: {}\n\n{}", operation.name, variant.name, about,
             explanation_text(explanation, shape, variant.operand, gpu, regime));
}

void run_explain(const ExplainOptions& options) {
  if (options.regime != "random" && options.regime != "zeros") {
    throw Error(fmt::format("no regime '{}'; there are random and zeros", options.regime));
  }
  const auto regime = options.regime == "random" ? plan::Regime::kRandom : plan::Regime::kZeros;
  const Gpu& gpu = find_gpu(options.gpu);
  const trace::TrafficShape& shape = options.shape;
  if (shape.M < 1 || shape.N < 1 || shape.K < 1) {
    throw Error(
        fmt::format("--M, --N and --K are at least 1; got {}, {}, {}", shape.M, shape.N, shape.K));
  }
  constexpr int64_t kMostElements = int64_t{1} << 44;  // of an output; kernels count its tiles
  if (std::max({shape.M, shape.N, shape.K}) > kMaxExtent || shape.M > kMostElements / shape.N) {
    throw Error(
        fmt::format("--M, --N and --K are at most {}, and M times N at most 2^44; got {}, {}, {}",
                    kMaxExtent, shape.M, shape.N, shape.K));
  }
  const NamedOperations operations({options.operation}, "none", options.variant);
  for (const catalogue::Operation* operation : operations.list()) {
    if (operation != operations.list().front()) fmt::print("\n");
    explain_one(*operation, options, gpu, regime);
  }
}

}  // namespace

void add_explain(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "What an operation or own program computes and costs: formula, bytes, predicted time");
  auto options = std::make_shared<ExplainOptions>();
  command
      ->add_option("operation", options->operation,
                   "Operation, or folder or header of own programs")
      ->required()
      ->type_name("");
  command->add_option("--variant", options->variant, "Variant; the first if left out");
  command->add_option("--M", options->shape.M, "Rows of A and of the output")
      ->capture_default_str();
  command->add_option("--N", options->shape.N, "Columns of one accumulator")->capture_default_str();
  command->add_option("--K", options->shape.K, "Contraction")->capture_default_str();
  command->add_option("--gpu", options->gpu, "h200 or h100")->capture_default_str();
  command->add_option("--regime", options->regime, "Data: random or zeros")->capture_default_str();
  command->add_option("--with", options->with, "Optional ports that are given")->delimiter(',');
  command->add_option("--without", options->without, "Optional ports that are left out")
      ->delimiter(',');
  command->callback([options] { run_explain(*options); });
}

}  // namespace coda::tools
