#include "coda/rows/embedding_backward.h"

#include <array>

#include "coda/catalogue/embedding_backward_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T, class Out, class Token>
struct EmbeddingBackward {
  static ProgramView program() {
    return {.name = "embedding_backward",
            .ports = {tensor_in("dx", "[M, h]", dtype_of<T>),
                      tensor_in("tokens", "[M]", dtype_of<Token>),
                      updated(tensor_out("out", "[V, h]", dtype_of<Out>)),
                      optional(updated(tensor_out("error", "[1]", DType::kInt32)))}};
  }
  static std::vector<std::string> parameters() { return {"accumulate"}; }
  static row::EmbeddingBackwardArguments read(const NamedArguments& call) {
    return {call.tensor("dx"), call.tensor("tokens"), call.tensor("out"), call.flag("accumulate"),
            call.maybe("error")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::embedding_backward(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::embedding_backward(a, stream); }
  static int64_t workspace_bytes(const row::EmbeddingBackwardArguments& a) {
    return cuda::embedding_backward_workspace_bytes(a);
  }

  // Of a benchmark: M tokens of width N out of K, added to what is there.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const bool bench = request.size != nullptr;
    const auto [M, h] = draw_extent(request);
    const int64_t V = bench ? std::max<int64_t>(request.size->K, 1)
                            : random.pick(std::array<int64_t, 5>{1, 2, 7, 30, 90});
    const int64_t used = bench ? V : random.between(1, V);  // from one that has all rows on
    const bool wrong = request.gpu && !bench && random.chance(0.2);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"dx", M, h, values},
                    {"tokens", 1, M, Values::integer(wrong ? -2 : 0, wrong ? V + 1 : used - 1)}};
    drawn.outputs = {{"out", V, h}};
    drawn.numbers["vocabulary"] = static_cast<double>(V);  // for the formula
    if (bench || random.chance(0.5)) {
      drawn.numbers["accumulate"] = 1;
      drawn.inputs.push_back({"out", V, h, values});
    }
    if (wrong || (!bench && random.chance(0.3))) {
      drawn.inputs.push_back({"error", 1, 1, Values::integer(0, 0)});
      drawn.outputs.push_back({"error", 1, 1});
    }
    drawn.terms = M + 1;
    // About as many rows of dE are read and written as there are tokens, or all.
    const auto lines = static_cast<double>(std::min(M, V)), width = static_cast<double>(h);
    drawn.bytes = width * (static_cast<double>(M) * sizeof(T) + 2 * lines * sizeof(Out));
    return drawn;
  }
};

}  // namespace

const Operation& embedding_backward_operation();  // the build collects it in operations()

const Operation& embedding_backward_operation() {
  static const Operation operation{
      .name = "embedding_backward",
      .formula = "out[token] (+)= Σ of the token's rows of dx, from the first to the last",
      .summary = "The gradient of an embedding table, the same bits every time.",
      .variants = {row_variant<EmbeddingBackward<bf16, float, int64_t>>("bf16-fp32", DType::kBf16),
                   row_variant<EmbeddingBackward<bf16, bf16, int64_t>>("bf16", DType::kBf16),
                   row_variant<EmbeddingBackward<fp16, float, int32_t>>("fp16-fp32", DType::kFp16),
                   row_variant<EmbeddingBackward<float, float, int64_t>>("fp32", DType::kFp32)},
      .reference = &embedding_backward_reference,
      .exact = {"out", "error"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
