#include "coda/rows/finish_columns.h"

#include <algorithm>

#include "coda/cpu/threads.h"

namespace coda::row {

ProgramView validate(const FinishColumnsArguments& arguments) {
  const TensorView& partials = arguments.partials;
  TensorCheck check("finish_columns");
  check.input("partials", partials, {partials.rows, partials.columns}, {DType::kFp32});
  check.output("out", arguments.out, {1, partials.columns}, {DType::kFp32, DType::kBf16});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void finish_columns(const row::FinishColumnsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("finish_columns", asked_threads);
  const TensorView &partials = arguments.partials, &out = arguments.out;
  constexpr int64_t kColumns = 256;  // of a thread at a time: their sums stay in cache
  row::with_element(out.dtype, [&]<class T>() {
    T* const to = row::data_of<T>(out);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t begin = 0; begin < out.columns; begin += kColumns) {
      const int64_t count = std::min(kColumns, out.columns - begin);
      float sums[kColumns] = {};
      for (int64_t part = 0; part < partials.rows; ++part) {
        const float* from = row::data_of<const float>(partials) + part * partials.ld + begin;
        for (int64_t j = 0; j < count; ++j) sums[j] += from[j];
      }
      for (int64_t j = 0; j < count; ++j) {
        const float before = arguments.accumulate ? to_float(to[begin + j]) : 0.0f;
        to[begin + j] = from_float<T>(before + sums[j]);
      }
    }
  });
}

}  // namespace coda::cpu
