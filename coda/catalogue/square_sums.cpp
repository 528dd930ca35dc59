#include "coda/rows/square_sums.h"

#include "coda/catalogue/row_operation.h"
#include "coda/catalogue/square_sums_reference.h"

namespace coda::catalogue {
namespace {

struct SquareSums {
  static ProgramView program() {
    return {
        .name = "square_sums",
        .ports = {tensor_in("x", "[N, K]", DType::kFp32), tensor_out("sums", "[N]", DType::kFp32)}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::SquareSumsArguments read(const NamedArguments& call) {
    return {call.tensor("x"), call.tensor("sums")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::square_sums(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::square_sums(a, stream); }

  // Of a benchmark: a gradient [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const bool one = !request.size && random.chance(0.1);  // a vector, longer than others
    const int64_t N = request.size ? request.size->M : one ? 1 : draw_tokens(random);
    const int64_t K = request.size ? request.size->N
                      : one        ? random.between(1, 100000)
                                   : draw_hidden(random, N);
    // Integers: their squares add up to less than 2^24.
    const Values values = request.integers ? Values::integer(-12, 12) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"x", N, K, values}};
    drawn.outputs = {{"sums", 1, N}};
    drawn.bytes = 4.0 * static_cast<double>(N) * static_cast<double>(K + 1);
    return drawn;
  }
};

}  // namespace

const Operation& square_sums_operation();  // the build collects it in operations()

const Operation& square_sums_operation() {
  static const Operation operation{
      .name = "square_sums",
      .formula = "sums = Σ x² over the columns",
      .summary = "What a gradient without partials adds to the norm of all.",
      .variants = {row_variant<SquareSums>("fp32", DType::kFp32)},
      .reference = &square_sums_reference,
      .exact = {"sums"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
