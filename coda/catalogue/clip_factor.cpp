#include "coda/rows/clip_factor.h"

#include <cmath>

#include "coda/catalogue/clip_factor_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

struct ClipFactor {
  static ProgramView program() {
    return {.name = "clip_factor",
            .ports = {tensor_in("squares", "[n]", DType::kFp32),
                      tensor_out("norm", "[1]", DType::kFp32),
                      tensor_out("factor", "[1]", DType::kFp32)}};
  }
  static std::vector<std::string> parameters() { return {"max_norm"}; }
  static row::ClipFactorArguments read(const NamedArguments& call) {
    return {call.tensor("squares"), call.tensor("norm"), call.tensor("factor"),
            call.number("max_norm", std::numeric_limits<double>::infinity())};
  }
  static void run_cpu(const auto& a, int threads) { cpu::clip_factor(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::clip_factor(a, stream); }
  static int64_t workspace_bytes(const row::ClipFactorArguments& a) {
    return cuda::clip_factor_workspace_bytes(a);
  }

  // Of a benchmark: as many partials as M gradients of N elements would have, were they rows of 64.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    int64_t n = 0;
    if (request.size) {
      n = request.size->M * row::parts_of(request.size->N);
    } else {
      n = random.chance(0.2) ? random.between(1, 150000) : draw_hidden(random, 1);
      if (random.chance(0.05)) n = 0;
    }
    DrawnCase drawn;
    drawn.inputs = {
        {"squares", 1, n,
         request.integers ? Values::integer(0, 15) : Values{Values::Kind::kUniform, 0, 2, true}}};
    drawn.outputs = {{"norm", 1, 1}, {"factor", 1, 1}};
    if (request.wants(0.8)) {  // from far below the norm, about √n, to above it
      const double norm = std::sqrt(static_cast<double>(n + 1));
      drawn.numbers["max_norm"] = norm * std::exp(6 * random.uniform() - 4);
    }
    drawn.bytes = 4.0 * static_cast<double>(n);
    return drawn;
  }
};

}  // namespace

const Operation& clip_factor_operation();  // the build collects it in operations()

const Operation& clip_factor_operation() {
  static const Operation operation{
      .name = "clip_factor",
      .formula = "norm = √(Σ squares), factor = min(1, max_norm/(norm + 1e-6))",
      .summary = "The norm of all gradients and what clips them to max_norm.",
      .variants = {row_variant<ClipFactor>("fp32", DType::kFp32)},
      .reference = &clip_factor_reference,
      .exact = {"norm", "factor"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
