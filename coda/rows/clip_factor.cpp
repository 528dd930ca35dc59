#include "coda/rows/clip_factor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "coda/cpu/threads.h"
#include "coda/rows/wide_sum.h"

namespace coda::row {

ProgramView validate(const ClipFactorArguments& a) {
  TensorCheck check("clip_factor");
  check.input("squares", a.squares, {1, a.squares.columns}, {DType::kFp32});
  check.output("norm", a.norm, {1, 1}, {DType::kFp32});
  check.output("factor", a.factor, {1, 1}, {DType::kFp32});
  if (!(a.max_norm > 0)) {
    check.fail("max_norm", "a number above 0; leave it out to clip nothing",
               fmt::format("{}", a.max_norm));
  }
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void clip_factor(const row::ClipFactorArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("clip_factor", asked_threads);
  constexpr int64_t kChunk = 8192;
  const int64_t count = arguments.squares.columns, chunks = (count + kChunk - 1) / kChunk;
  const float* const squares = row::data_of<const float>(arguments.squares);
  std::vector<double> sums(static_cast<size_t>(chunks));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t begin = i * kChunk;
    sums[static_cast<size_t>(i)] =
        row::wide_sum(squares + begin, std::min(kChunk, count - begin), [](double v) { return v; });
  }
  const double norm = std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
  *row::data_of<float>(arguments.norm) = static_cast<float>(norm);
  *row::data_of<float>(arguments.factor) = row::factor_of(norm, arguments.max_norm);
}

}  // namespace coda::cpu
