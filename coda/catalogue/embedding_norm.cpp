#include "coda/rows/embedding_norm.h"

#include "coda/catalogue/embedding_norm_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T, class Stream, class Token>
struct EmbeddingNorm {
  static constexpr DType kType = dtype_of<T>;

  static ProgramView program() {
    return {
        .name = "embedding_norm",
        .ports = {tensor_in("table", "[V, h]", kType), tensor_in("tokens", "[M]", dtype_of<Token>),
                  optional(tensor_in("gamma", "[h]", kType)),
                  tensor_out("out", "[M, h]", dtype_of<Stream>),
                  optional(tensor_out("scaled", "[M, h]", kType)),
                  tensor_out("squares", "[⌈h/64⌉, M]", DType::kFp32),
                  optional(updated(tensor_out("error", "[1]", DType::kInt32)))}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::EmbeddingNormArguments read(const NamedArguments& call) {
    return {call.tensor("table"), call.tensor("tokens"), call.tensor("out"), call.tensor("squares"),
            call.maybe("gamma"),  call.maybe("scaled"),  call.maybe("error")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::embedding_norm(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::embedding_norm(a, stream); }

  // Of a benchmark: M tokens of width N out of K.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const auto [M, h] = draw_extent(request);
    const int64_t V = request.size ? std::max<int64_t>(request.size->K, 1) : random.between(1, 50);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    // Only the GPU, which cannot say no, is given tokens out of range.
    const bool wrong = request.gpu && !request.size && random.chance(0.2);
    DrawnCase drawn;
    drawn.inputs = {{"table", V, h, values},
                    {"tokens", 1, M, Values::integer(wrong ? -3 : 0, wrong ? V + 2 : V - 1)}};
    drawn.outputs = {{"out", M, h}, {"squares", row::parts_of(h), M}};
    drawn.terms = kPartialWidth;
    const auto elements = static_cast<double>(M * h);
    drawn.bytes = elements * (sizeof(T) + sizeof(Stream) + 4.0 / kPartialWidth);
    if (request.wants(0.5)) {
      drawn.inputs.push_back({"gamma", 1, h, values});
      drawn.outputs.push_back({"scaled", M, h});
      drawn.bytes += elements * sizeof(T);
    }
    if (wrong || request.wants(0.3)) {
      drawn.inputs.push_back({"error", 1, 1, Values::integer(0, 0)});
      drawn.outputs.push_back({"error", 1, 1});
    }
    return drawn;
  }
};

}  // namespace

const Operation& embedding_norm_operation();  // the build collects it in operations()

const Operation& embedding_norm_operation() {
  static const Operation operation{
      .name = "embedding_norm",
      .formula = "out = E[token]; squares = Σ out² per 64 columns; kept γ: scaled = out⊙γ",
      .summary = "Embedding lookup with the row sums of the RMSNorm that follows.",
      .variants = {row_variant<EmbeddingNorm<bf16, bf16, int64_t>>("bf16", DType::kBf16),
                   row_variant<EmbeddingNorm<bf16, bf16, int32_t>>("bf16-int32", DType::kBf16),
                   row_variant<EmbeddingNorm<bf16, float, int64_t>>("bf16-fp32stream",
                                                                    DType::kBf16),
                   row_variant<EmbeddingNorm<fp16, fp16, int64_t>>("fp16", DType::kFp16),
                   row_variant<EmbeddingNorm<float, float, int64_t>>("fp32", DType::kFp32)},
      .reference = &embedding_norm_reference,
      .exact = {"out", "scaled", "squares", "error"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
