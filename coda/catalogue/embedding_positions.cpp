#include "coda/rows/embedding_positions.h"

#include "coda/catalogue/embedding_positions_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T, class Stream, class Token>
struct EmbeddingPositions {
  static ProgramView program() {
    return {.name = "embedding_positions",
            .ports = {tensor_in("table", "[V, h]", dtype_of<T>),
                      tensor_in("tokens", "[M]", dtype_of<Token>),
                      tensor_in("positions_table", "[positions, h]", dtype_of<T>),
                      tensor_in("positions", "[M]", dtype_of<Token>),
                      tensor_out("out", "[M, h]", dtype_of<Stream>),
                      optional(updated(tensor_out("error", "[1]", DType::kInt32)))}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::EmbeddingPositionsArguments read(const NamedArguments& call) {
    return {call.tensor("table"),     call.tensor("tokens"), call.tensor("positions_table"),
            call.tensor("positions"), call.tensor("out"),    call.maybe("error")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::embedding_positions(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::embedding_positions(a, stream); }

  // Of a benchmark: M tokens of width N out of K, at positions below 1024.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const bool bench = request.size != nullptr;
    const auto [M, h] = draw_extent(request);
    const int64_t V = bench ? std::max<int64_t>(request.size->K, 1) : random.between(1, 50);
    const int64_t positions = bench ? 1024 : random.between(1, 50);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    // Only the GPU, which cannot say no, is given what is out of range.
    const int64_t wrong = request.gpu && !bench && random.chance(0.2) ? 3 : 0;
    DrawnCase drawn;
    drawn.inputs = {{"table", V, h, values},
                    {"tokens", 1, M, Values::integer(-wrong, V - 1 + wrong)},
                    {"positions_table", positions, h, values},
                    {"positions", 1, M, Values::integer(-wrong, positions - 1 + wrong)}};
    drawn.outputs = {{"out", M, h}};
    drawn.bytes = static_cast<double>(M * h) * (2 * sizeof(T) + sizeof(Stream));
    if (wrong > 0 || request.wants(0.3)) {
      drawn.inputs.push_back({"error", 1, 1, Values::integer(0, 0)});
      drawn.outputs.push_back({"error", 1, 1});
    }
    return drawn;
  }
};

}  // namespace

const Operation& embedding_positions_operation();  // the build collects it in operations()

const Operation& embedding_positions_operation() {
  static const Operation operation{
      .name = "embedding_positions",
      .formula = "out = E[token] + P[position]",
      .summary = "Embedding lookup with learned positions.",
      .variants = {row_variant<EmbeddingPositions<bf16, bf16, int64_t>>("bf16", DType::kBf16),
                   row_variant<EmbeddingPositions<bf16, bf16, int32_t>>("bf16-int32", DType::kBf16),
                   row_variant<EmbeddingPositions<bf16, float, int64_t>>("bf16-fp32stream",
                                                                         DType::kBf16),
                   row_variant<EmbeddingPositions<fp16, fp16, int64_t>>("fp16", DType::kFp16),
                   row_variant<EmbeddingPositions<float, float, int64_t>>("fp32", DType::kFp32)},
      .reference = &embedding_positions_reference,
      .exact = {"out", "error"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
