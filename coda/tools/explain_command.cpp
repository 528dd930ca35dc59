#include <fmt/format.h>

#include <memory>

#include "coda/core/error.h"
#include "coda/terminal/table.h"
#include "coda/tools/command_line.h"
#include "coda/tools/explain.h"
#include "coda/trace/print_cpp.h"
#include "coda/trace/recognise.h"

namespace coda::tools {
namespace {

struct ExplainOptions {
  std::string operation, variant, gpu = "h200", regime = "random";
  trace::TrafficShape shape{16384, 4096, 4096, 128, 2};
  std::vector<std::string> with, without;
};

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

void print_costs(const Explanation& e, const ExplainOptions& options, const Gpu& gpu) {
  const trace::Traffic& t = e.traffic;
  fmt::print("\narithmetic: {:.1f} GFLOP in the GEMM, {:.2f} in the epilogue\n", t.gemm_flops / 1e9,
             t.element_flops / 1e9);
  fmt::print("bytes: {} fused; {} as a GEMM and one pass; {} operator by operator ({} passes)\n",
             bytes_text(t.fused_bytes), bytes_text(t.compiled_bytes), bytes_text(t.eager_bytes),
             t.eager_passes);
  fmt::print("roofline on {}: {:.1f} us\n", gpu.device.name, e.roofline_seconds * 1e6);
  const std::string shared = e.shared_bytes > 0 ? bytes_text(e.shared_bytes) + " of shared memory"
                                                : "shared memory known to builds with CUDA";
  fmt::print(
      "tile: {}; {} threads, {} registers where they multiply, {}; {:.1f} bytes from L2 per "
      "tensor clock\n",
      e.tile, e.threads, e.registers, shared, e.l2_bytes_per_tensor_clock);
  fmt::print("predicted, {} data: {:.1f} us; the GEMM alone {:.1f} us\n",
             options.regime == "random" ? "random (power-limited)" : "all-zero (clock-limited)",
             e.seconds * 1e6, e.gemm_seconds * 1e6);
  fmt::print(
      "predicted speedup: {:.2f} over a GEMM and one pass ({:.1f} us), {:.2f} over operator by "
      "operator ({:.1f} us)\n",
      e.compiled_seconds / e.seconds, e.compiled_seconds * 1e6, e.eager_seconds / e.seconds,
      e.eager_seconds * 1e6);
}

void run_explain(const ExplainOptions& options) {
  const catalogue::Operation& operation = catalogue::find_operation(options.operation);
  const catalogue::Variant& variant = options.variant.empty()
                                          ? operation.variants.front()
                                          : catalogue::find_variant(operation, options.variant);
  if (options.regime != "random" && options.regime != "zeros") {
    throw Error(fmt::format("no regime '{}'; there are random and zeros", options.regime));
  }
  const Gpu& gpu = find_gpu(options.gpu);
  trace::TrafficShape shape = options.shape;
  if (shape.M < 1 || shape.N < 1 || shape.K < 1) {
    throw Error(
        fmt::format("--M, --N and --K are at least 1; got {}, {}, {}", shape.M, shape.N, shape.K));
  }
  shape.operand_bytes = dtype_bytes(variant.operand);
  const Explanation e =
      explain(variant, usual_instance(variant.program, options.with, options.without), shape, gpu,
              options.regime == "random" ? plan::Regime::kRandom : plan::Regime::kZeros);
  fmt::print("{} {}: {}\n  {}\n", operation.name, variant.name, operation.summary,
             operation.formula);
  fmt::print("\nthe program, M = {}, N = {}, K = {}:\n{}", shape.M, shape.N, shape.K,
             trace::print_formula(trace::recognise(e.graph)));
  terminal::Table table({{"port"}, {"kind"}, {"shape"}, {"type"}, {"use"}, {"bytes"}});
  table.add({"A, B", "operands", "", dtype_name(variant.operand), "in",
             bytes_text(e.traffic.operand_bytes)});
  for (const trace::PortTraffic& port : e.traffic.ports) {
    table.add({port.name, port.kind, port.shape, port.type, port.input ? "in" : "out",
               bytes_text(port.bytes)});
  }
  fmt::print("\n{}", table.text(2));
  print_costs(e, options, gpu);
}

}  // namespace

void add_explain(CLI::App& app, int&) {
  CLI::App* command = app.add_subcommand(
      "explain", "What an operation computes and costs: formula, bytes, predicted time");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("operation", options->operation, "Operation")->required()->type_name("");
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
