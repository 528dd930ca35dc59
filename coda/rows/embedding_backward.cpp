#include "coda/rows/embedding_backward.h"

#include <algorithm>
#include <vector>

#include "coda/cpu/threads.h"
#include "coda/rows/tokens.h"

namespace coda::row {
namespace {

constexpr const char* kName = "embedding_backward";

// The rows of every token, in order: those of token t are rows[begin[t]] to rows[begin[t + 1] - 1].
struct Occurrences {
  std::vector<int64_t> begin, rows;
};

template <class Token>
Occurrences sort_tokens(const TensorView& tokens, int64_t vocabulary) {
  const Token* const data = data_of<const Token>(tokens);
  Occurrences result;
  result.begin.resize(static_cast<size_t>(vocabulary) + 1);
  result.rows.resize(static_cast<size_t>(tokens.columns));
  for (int64_t i = 0; i < tokens.columns; ++i) ++result.begin[static_cast<size_t>(data[i]) + 1];
  for (size_t t = 1; t < result.begin.size(); ++t) result.begin[t] += result.begin[t - 1];
  std::vector<int64_t> next(result.begin.begin(), result.begin.end() - 1);
  for (int64_t i = 0; i < tokens.columns; ++i) {
    result.rows[static_cast<size_t>(next[static_cast<size_t>(data[i])]++)] = i;
  }
  return result;
}

template <class T, class Out>
void scatter(const EmbeddingBackwardArguments& a, const Occurrences& occurrences, int threads) {
  constexpr int64_t kColumns = 512;  // whose sums a thread holds
  const TensorView &dx = a.dx, &out = a.out;
  const int64_t slabs = (out.columns + kColumns - 1) / kColumns;
#pragma omp parallel for collapse(2) schedule(dynamic, 64) num_threads(threads)
  for (int64_t token = 0; token < out.rows; ++token) {
    for (int64_t slab = 0; slab < slabs; ++slab) {
      const auto begin = occurrences.begin[static_cast<size_t>(token)];
      const auto end = occurrences.begin[static_cast<size_t>(token) + 1];
      if (begin == end && a.accumulate) continue;
      const int64_t column = slab * kColumns;
      const int64_t count = std::min(kColumns, out.columns - column);
      float sums[kColumns] = {};
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = occurrences.rows[static_cast<size_t>(i)];
        const T* const from = data_of<const T>(dx) + row * dx.ld + column;
        for (int64_t j = 0; j < count; ++j) sums[j] += to_float(from[j]);
      }
      Out* const to = data_of<Out>(out) + token * out.ld + column;
      if (a.accumulate) {
        for (int64_t j = 0; j < count; ++j) sums[j] += to_float(to[j]);
      }
      for (int64_t j = 0; j < count; ++j) to[j] = from_float<Out>(sums[j]);
    }
  }
}

}  // namespace

ProgramView validate(const EmbeddingBackwardArguments& a) {
  const int64_t M = a.tokens.columns, h = a.dx.columns;
  TensorCheck check(kName);
  check.input("dx", a.dx, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.input("tokens", a.tokens, {1, M}, {DType::kInt32, DType::kInt64});
  check.output("out", a.out, {a.out.rows, h}, {DType::kFp32, DType::kBf16});
  if (a.out.rows == 0 && M > 0) check.fail("out", "at least one row", "none");
  if (a.error) check.output("error", *a.error, {1, 1}, {DType::kInt32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void embedding_backward(const row::EmbeddingBackwardArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::Occurrences occurrences;
  row::with_integer(arguments.tokens.dtype, [&]<class Token>() {
    row::check_tokens<Token>(row::kName, arguments.tokens, arguments.out.rows);
    if (arguments.out.empty()) return;
    occurrences = row::sort_tokens<Token>(arguments.tokens, arguments.out.rows);
  });
  row::with_element(arguments.dx.dtype, [&]<class T>() {
    if (arguments.out.dtype == DType::kFp32) {
      row::scatter<T, float>(arguments, occurrences, threads);
    } else {
      row::scatter<T, bf16>(arguments, occurrences, threads);
    }
  });
}

}  // namespace coda::cpu
