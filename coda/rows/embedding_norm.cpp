#include "coda/rows/embedding_norm.h"

#include "coda/cpu/threads.h"
#include "coda/rows/norm_row.h"
#include "coda/rows/tokens.h"

namespace coda::row {
namespace {

constexpr const char* kName = "embedding_norm";

template <class T, class Out, class Token>
void gather(const EmbeddingNormArguments& a, int threads) {
  check_tokens<Token>(kName, a.tokens, a.table.rows);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t m = 0; m < a.tokens.columns; ++m) {
    const auto token = static_cast<int64_t>(data_of<const Token>(a.tokens)[m]);
    const T* const from = data_of<const T>(a.table) + token * a.table.ld;
    Out* const out = data_of<Out>(a.out) + m * a.out.ld;
    norm_row(norm_row_of<T>(m, a.gamma, a.scaled, a.squares), a.table.columns, [&](int64_t j) {
      const float x = to_float(from[j]);
      out[j] = from_float<Out>(x);
      return x;
    });
  }
}

}  // namespace

ProgramView validate(const EmbeddingNormArguments& a) {
  const int64_t M = a.tokens.columns, h = a.table.columns;
  TensorCheck check(kName);
  check.input("table", a.table, {a.table.rows, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.input("tokens", a.tokens, {1, M}, {DType::kInt32, DType::kInt64});
  check.together("gamma", a.gamma.has_value(), "scaled", a.scaled.has_value());
  if (a.gamma) check.input("gamma", *a.gamma, {1, h}, {a.table.dtype});
  check.output("out", a.out, {M, h}, {a.table.dtype, DType::kFp32});
  if (a.scaled) check.output("scaled", *a.scaled, {M, h}, {a.table.dtype});
  check.output("squares", a.squares, {parts_of(h), M}, {DType::kFp32});
  if (a.error) check.output("error", *a.error, {1, 1}, {DType::kInt32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void embedding_norm(const row::EmbeddingNormArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::with_stream(arguments.table.dtype, arguments.out.dtype, [&]<class T, class Out>() {
    row::with_integer(arguments.tokens.dtype,
                      [&]<class Token>() { row::gather<T, Out, Token>(arguments, threads); });
  });
}

}  // namespace coda::cpu
