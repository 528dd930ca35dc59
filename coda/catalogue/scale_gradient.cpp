#include "coda/rows/scale_gradient.h"

#include "coda/catalogue/row_operation.h"
#include "coda/catalogue/scale_gradient_reference.h"

namespace coda::catalogue {
namespace {

template <class From, class To>
struct ScaleGradient {
  static ProgramView program() {
    return {.name = "scale_gradient",
            .ports = {tensor_in("gradient", "[N, K]", dtype_of<From>),
                      tensor_in("factor", "[1]", DType::kFp32),
                      tensor_out("out", "[N, K]", dtype_of<To>)}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::ScaleGradientArguments read(const NamedArguments& call) {
    return {call.tensor("gradient"), call.tensor("factor"), call.tensor("out")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::scale_gradient(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::scale_gradient(a, stream); }

  // Of a benchmark: a gradient [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const auto [N, K] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"gradient", N, K, values}, {"factor", 1, 1, values}};
    drawn.outputs = {{"out", N, K}};
    drawn.bytes = static_cast<double>(sizeof(From) + sizeof(To)) * static_cast<double>(N * K);
    if (std::is_same_v<From, To> && !request.size && random.chance(0.3)) {
      drawn.in_place_output = "out";
      drawn.in_place_input = "gradient";
    }
    return drawn;
  }
};

}  // namespace

const Operation& scale_gradient_operation();  // the build collects it in operations()

const Operation& scale_gradient_operation() {
  static const Operation operation{
      .name = "scale_gradient",
      .formula = "out = factor·gradient",
      .summary = "A gradient that was made with the loss, times the one that comes into it.",
      .variants = {row_variant<ScaleGradient<bf16, bf16>>("bf16", DType::kBf16),
                   row_variant<ScaleGradient<float, bf16>>("fp32-bf16", DType::kFp32),
                   row_variant<ScaleGradient<float, float>>("fp32", DType::kFp32)},
      .reference = &scale_gradient_reference,
      .exact = {"out"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
