#include "coda/rows/finish_columns.h"

#include "coda/catalogue/finish_columns_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T>
struct FinishColumns {
  static ProgramView program() {
    return {.name = "finish_columns",
            .ports = {tensor_in("partials", "[parts, N]", DType::kFp32),
                      updated(tensor_out("out", "[N]", dtype_of<T>))}};
  }
  static std::vector<std::string> parameters() { return {"accumulate"}; }
  static row::FinishColumnsArguments read(const NamedArguments& call) {
    return {call.tensor("partials"), call.tensor("out"), call.flag("accumulate")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::finish_columns(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::finish_columns(a, stream); }

  // Of a benchmark: the partials of M tokens, N columns.
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const int64_t parts = request.size ? row::parts_of(request.size->M) : draw_tokens(random);
    const int64_t N = request.size ? request.size->N : draw_hidden(random, parts);
    const Values values = request.integers ? Values::integer(-200, 200) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"partials", parts, N, values}};
    drawn.outputs = {{"out", 1, N}};
    drawn.terms = parts + 1;
    drawn.bytes = 4.0 * static_cast<double>(parts * N) + sizeof(T) * static_cast<double>(N);
    if (!request.size && random.chance(0.5)) {
      drawn.numbers["accumulate"] = 1;
      drawn.inputs.push_back({"out", 1, N, values});
    }
    return drawn;
  }
};

}  // namespace

const Operation& finish_columns_operation();  // the build collects it in operations()

const Operation& finish_columns_operation() {
  static const Operation operation{
      .name = "finish_columns",
      .formula = "out (+)= Σ partials over the parts",
      .summary = "What a column reduction left as partials, added up in a fixed order.",
      .variants = {row_variant<FinishColumns<float>>("fp32", DType::kFp32),
                   row_variant<FinishColumns<bf16>>("bf16", DType::kBf16)},
      .reference = &finish_columns_reference,
      .exact = {"out"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
