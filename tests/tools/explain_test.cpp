// Times that `coda explain` predicts against those measured on an H200, in both regimes:
// bench/results/h200.json (the kernel that was chosen, alone) and operations_h200.json (operations
// beside a framework's).
#include "coda/tools/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "coda/catalogue/simulated.h"
#include "coda/trace/derive.h"
#include "coda/trace/print_cpp.h"

namespace coda::tools {
namespace {

struct Errors {
  double sum = 0, worst = 0;
  int count = 0;
  void add(double predicted, double measured) {
    const double error = std::fabs(predicted / measured - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  double mean() const { return sum / count; }
};

nlohmann::json results(const char* file) {
  std::ifstream in(std::filesystem::path(CODA_SOURCE_DIR) / "bench" / "results" / file);
  return nlohmann::json::parse(in)["results"];
}

const catalogue::Variant& variant_of(const nlohmann::json& r) {
  const auto operation = r["operation"].get<std::string>();
  return catalogue::find_variant(catalogue::find_operation(operation),
                                 r["variant"].get<std::string>());
}

double predicted_ms(const nlohmann::json& r, int64_t N, const std::vector<std::string>& with,
                    const std::vector<std::string>& without) {
  const catalogue::Variant& variant = variant_of(r);
  const trace::TrafficShape shape{r["M"], N, r["K"], 128, dtype_bytes(variant.operand)};
  const auto regime = r["regime"] == "random" ? plan::Regime::kRandom : plan::Regime::kZeros;
  return 1e3 * explain(variant, usual_instance(variant.program, with, without), shape,
                       find_gpu("h200"), regime)
                   .seconds;
}

TEST(Explain, PredictsMeasuredTimes) {
  Errors kernels, operations;
  for (const auto& r : results("h200.json")) {
    const bool sliced = r["config"].get<std::string>().find("_k") != std::string::npos;
    if (!r["chosen"].get<bool>() || sliced) continue;
    const catalogue::Variant& variant = variant_of(r);
    std::vector<std::string> without;
    for (const PortView& port : variant.program.ports) {
      if (port.optional) without.push_back(port.name);
    }
    const std::vector<std::string> with = r["ports"];
    for (const std::string& name : with) std::erase(without, name);
    kernels.add(predicted_ms(r, r["N"], with, without), r["ms"]);
  }
  for (const auto& r : results("operations_h200.json")) {
    if (r["set"] == "chain") continue;  // with other kernels around
    const std::string operation = r["operation"];
    const bool pairs = operation == "linear_swiglu" || operation == "linear_rope";
    std::vector<std::string> with, without;
    if (operation == "linear_cross_entropy") without = {"logits"};
    if (operation == "linear_norm_backward") with = {"dx_in"};
    operations.add(predicted_ms(r, r["N"].get<int64_t>() / (pairs ? 2 : 1), with, without),
                   r["ms"]["coda"]);
  }
  for (const auto& [name, errors] : {std::pair("kernels", kernels), {"operations", operations}}) {
    std::printf("%s: %d times, predicted to %.1f %% on average, %.1f %% at most\n", name,
                errors.count, 100 * errors.mean(), 100 * errors.worst);
    EXPECT_GT(errors.count, 100);
    EXPECT_LE(errors.mean(), 0.10);
  }
}

TEST(Explain, TakesEveryGemmProgram) {
  for (const catalogue::Operation* operation : catalogue::operations()) {
    for (const catalogue::Variant& variant : operation->variants) {
      if (!operation->has_operands) continue;
      const Explanation e =
          explain(variant, usual_instance(variant.program, {}, {}), {1000, 512, 256, 128, 2},
                  find_gpu("h200"), plan::Regime::kRandom);
      EXPECT_FALSE(trace::print_formula(e.graph).empty()) << operation->name;
      EXPECT_GE(e.traffic.eager_bytes, e.traffic.operand_bytes) << operation->name;
      EXPECT_GT(e.seconds, e.roofline_seconds) << operation->name;
      try {
        EXPECT_FALSE(print_cpp(trace::derive(e.graph).graph, {"Backward", "", {}}).empty());
      } catch (const Error& error) {
        // The output dx of a program for gradients may be what that of its x would be called.
        const std::string& name = operation->name;
        EXPECT_TRUE(name.ends_with("_backward") || name.ends_with("_grad")) << name;
        EXPECT_NE(std::string(error.what()).find("two meanings"), std::string::npos);
      }
    }
  }
}

// Not of all tiles: partials of 128 columns do not fit those of 192, which would be faster here.
TEST(Explain, ChoosesAmongTheOperationsKernels) {
  for (const char* name : {"linear_cross_entropy", "linear_swiglu"}) {
    const catalogue::Variant& variant =
        catalogue::find_variant(catalogue::find_operation(name), "bf16");
    const Explanation e =
        explain(variant, usual_instance(variant.program, {}, {}), {16384, 32768, 8192, 128, 2},
                find_gpu("h200"), plan::Regime::kZeros);
    const auto kernels = catalogue::find_simulated(variant)->kernels();
    EXPECT_TRUE(
        std::ranges::any_of(kernels, [&](const auto& kernel) { return kernel.config == e.config; }))
        << name << ": " << e.tile;
    EXPECT_GT(e.shared_bytes, 0) << name;
  }
}

TEST(Explain, BytesOfLinearByHand) {
  const catalogue::Variant& variant =
      catalogue::find_variant(catalogue::find_operation("linear"), "bf16");
  const trace::TrafficShape shape{256, 128, 64, 128, 2};
  const trace::Traffic t =
      traffic_of(variant.trace(usual_instance(variant.program, {"bias"}, {"rstd"})), shape);
  EXPECT_EQ(t.gemm_flops, 2.0 * 256 * 128 * 64);
  EXPECT_EQ(t.operand_bytes, 2.0 * (256 + 128) * 64);
  // α and β by value, the bias and the output
  EXPECT_EQ(t.fused_bytes, t.operand_bytes + 4 + 4 + 2 * 128 + 2 * 256 * 128);
  // the product; then the addition of the bias reads it and writes the output
  EXPECT_EQ(t.eager_passes, 1);
  EXPECT_EQ(t.eager_bytes, t.operand_bytes + 3 * 2.0 * 256 * 128 + 2 * 128);
}

}  // namespace
}  // namespace coda::tools
