#include "coda/rows/fold_norm_weight.h"

#include "coda/catalogue/fold_norm_weight_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T>
struct FoldNormWeight {
  static constexpr DType kType = dtype_of<T>;

  static ProgramView program() {
    return {.name = "fold_norm_weight",
            .ports = {tensor_in("weight", "[N, K]", kType), tensor_in("gamma", "[K]", kType),
                      tensor_out("out", "[N, K]", kType)}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::FoldNormWeightArguments read(const NamedArguments& call) {
    return {call.tensor("weight"), call.tensor("gamma"), call.tensor("out")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::fold_norm_weight(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::fold_norm_weight(a, stream); }

  // Of a benchmark: a weight [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const auto [N, K] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"weight", N, K, values},
                    {"gamma", 1, K, request.integers ? values : Values::normal(1, 0.5)}};
    drawn.outputs = {{"out", N, K}};
    drawn.bytes = 2.0 * sizeof(T) * static_cast<double>(N * K);
    if (!request.size && random.chance(0.3)) {
      drawn.in_place_output = "out";
      drawn.in_place_input = "weight";
    }
    return drawn;
  }
};

}  // namespace

const Operation& fold_norm_weight_operation();  // the build collects it in operations()

const Operation& fold_norm_weight_operation() {
  static const Operation operation{
      .name = "fold_norm_weight",
      .formula = "out = weight⊙γ, column by column",
      .summary = "A norm's weight folded into the linear layer behind it.",
      .variants = {row_variant<FoldNormWeight<bf16>>("bf16", DType::kBf16),
                   row_variant<FoldNormWeight<fp16>>("fp16", DType::kFp16),
                   row_variant<FoldNormWeight<float>>("fp32", DType::kFp32)},
      .reference = &fold_norm_weight_reference,
      .exact = {"out"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
