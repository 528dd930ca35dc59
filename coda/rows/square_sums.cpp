#include "coda/rows/square_sums.h"

#include "coda/cpu/threads.h"
#include "coda/rows/wide_sum.h"

namespace coda::row {

ProgramView validate(const SquareSumsArguments& arguments) {
  const TensorView& x = arguments.x;
  TensorCheck check("square_sums");
  check.input("x", x, {x.rows, x.columns}, {DType::kFp32});
  check.output("sums", arguments.sums, {1, x.rows}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void square_sums(const row::SquareSumsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("square_sums", asked_threads);
  const TensorView& x = arguments.x;
  float* const sums = row::data_of<float>(arguments.sums);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* const line = row::data_of<const float>(x) + i * x.ld;
    sums[i] = static_cast<float>(row::wide_sum(line, x.columns, [](double v) { return v * v; }));
  }
}

}  // namespace coda::cpu
