#include "coda/rows/layer_norm_sums.h"

#include "coda/catalogue/layer_norm_sums_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T>
struct LayerNormSums {
  static ProgramView program() {
    return {
        .name = "layer_norm_sums",
        .ports = {tensor_in("dz", "[M, N]", dtype_of<T>), tensor_in("z", "[M, N]", dtype_of<T>),
                  tensor_in("shift", "[N]", DType::kFp32), tensor_in("offset", "[N]", DType::kFp32),
                  optional(tensor_in("bias", "[N]", dtype_of<T>)),
                  tensor_out("dots", "[⌈N/64⌉, M]", DType::kFp32),
                  tensor_out("shifts", "[⌈N/64⌉, M]", DType::kFp32),
                  optional(tensor_out("dbias", "[⌈M/64⌉, N]", DType::kFp32))}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::LayerNormSumsArguments read(const NamedArguments& call) {
    return {call.tensor("dz"),   call.tensor("z"),      call.tensor("shift"), call.tensor("offset"),
            call.tensor("dots"), call.tensor("shifts"), call.maybe("bias"),   call.maybe("dbias")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::layer_norm_sums(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::layer_norm_sums(a, stream); }

  // Of a benchmark: a gradient [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    const auto [M, N] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"dz", M, N, values},
                    {"z", M, N, values},
                    {"shift", 1, N, values},
                    {"offset", 1, N, values}};
    drawn.outputs = {{"dots", row::parts_of(N), M}, {"shifts", row::parts_of(N), M}};
    drawn.terms = kPartialWidth;
    drawn.bytes = static_cast<double>(M * N) * (2 * sizeof(T) + 12.0 / kPartialWidth);
    if (request.wants(0.7)) drawn.inputs.push_back({"bias", 1, N, values});
    if (request.wants(0.7)) drawn.outputs.push_back({"dbias", row::parts_of(M), N});
    return drawn;
  }
};

}  // namespace

const Operation& layer_norm_sums_operation();  // the build collects it in operations()

const Operation& layer_norm_sums_operation() {
  static const Operation operation{
      .name = "layer_norm_sums",
      .formula =
          "dots = Σ dz·(z − offset − bias), shifts = Σ dz·shift per 64 columns; dbias = Σ dz per "
          "64 rows",
      .summary = "What a LayerNorm's gradient needs of the gradient of a linear layer behind it.",
      .variants = {row_variant<LayerNormSums<bf16>>("bf16", DType::kBf16),
                   row_variant<LayerNormSums<float>>("fp32", DType::kFp32)},
      .reference = &layer_norm_sums_reference,
      .exact = {"dots", "shifts", "dbias"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
