#include "coda/rows/embedding_positions.h"

#include "coda/cpu/threads.h"
#include "coda/rows/tokens.h"

namespace coda::row {
namespace {

constexpr const char* kName = "embedding_positions";

template <class T, class Out, class Token>
void gather(const EmbeddingPositionsArguments& a, int threads) {
  check_tokens<Token>(kName, a.tokens, a.table.rows);
  check_tokens<Token>(kName, a.positions, a.positions_table.rows, "positions");
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t m = 0; m < a.tokens.columns; ++m) {
    const auto token = static_cast<int64_t>(data_of<const Token>(a.tokens)[m]);
    const auto position = static_cast<int64_t>(data_of<const Token>(a.positions)[m]);
    const T* const what = data_of<const T>(a.table) + token * a.table.ld;
    const T* const where = data_of<const T>(a.positions_table) + position * a.positions_table.ld;
    Out* const out = data_of<Out>(a.out) + m * a.out.ld;
    for (int64_t j = 0; j < a.table.columns; ++j) {
      out[j] = from_float<Out>(to_float(what[j]) + to_float(where[j]));
    }
  }
}

}  // namespace

ProgramView validate(const EmbeddingPositionsArguments& a) {
  const int64_t M = a.tokens.columns, h = a.table.columns;
  TensorCheck check(kName);
  check.input("table", a.table, {a.table.rows, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.input("tokens", a.tokens, {1, M}, {DType::kInt32, DType::kInt64});
  check.input("positions_table", a.positions_table, {a.positions_table.rows, h}, {a.table.dtype});
  check.input("positions", a.positions, {1, M}, {a.tokens.dtype});
  check.output("out", a.out, {M, h}, {a.table.dtype, DType::kFp32});
  if (a.error) check.output("error", *a.error, {1, 1}, {DType::kInt32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void embedding_positions(const row::EmbeddingPositionsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::with_stream(arguments.table.dtype, arguments.out.dtype, [&]<class T, class Out>() {
    row::with_integer(arguments.tokens.dtype,
                      [&]<class Token>() { row::gather<T, Out, Token>(arguments, threads); });
  });
}

}  // namespace coda::cpu
