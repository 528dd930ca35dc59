#include "coda/rows/cross_entropy_loss.h"

#include <string>

#include "coda/cpu/run.h"
#include "coda/cpu/threads.h"
#include "coda/rows/cross_entropy_row.h"

namespace coda::row {

void check_targets(const int64_t* target, int64_t rows, int64_t vocabulary, int64_t ignore_index) {
  for (int64_t m = 0; m < rows; ++m) {
    if (target[m] == ignore_index || (target[m] >= 0 && target[m] < vocabulary)) continue;
    fail_argument("linear_cross_entropy", "target",
                  "columns from 0 to " + std::to_string(vocabulary - 1) +
                      ", or ignore_index = " + std::to_string(ignore_index),
                  std::to_string(target[m]) + " at " + std::to_string(m));
  }
}

}  // namespace coda::row

namespace coda::cpu {

void cross_entropy_loss(const row::CrossEntropyLossArguments& a, const Options& options) {
  using Sums = CrossEntropySums;
  const int64_t M = a.sums.columns;
  row::check_targets(a.target, M, a.vocabulary, a.ignore_index);
  const int threads = cpu::thread_count("linear_cross_entropy", options.threads);
  constexpr int64_t kRows = 64;  // lines of partials are far apart: many rows of each
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t first = 0; first < M; first += kRows) {
    const int64_t rows = M - first < kRows ? M - first : kRows;
    Sums::State<float> state[kRows];
    for (auto& one : state) one = Sums::identity<float>();
    for (int64_t part = 0; part < a.sums.rows; ++part) {
      const auto* line = a.sums.data + part * a.sums.ld + first;
      for (int64_t i = 0; i < rows; ++i) state[i] = Sums::combine(state[i], line[i]);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t m = first + i;
      const row::RowLoss result =
          row::row_loss(state[i], a.target[m], a.vocabulary, a.ignore_index, a.z_loss, a.smoothing);
      a.lse[m] = result.lse;
      a.loss[m] = result.loss;
    }
  }
}

void cross_entropy_total(const row::CrossEntropyTotalArguments& a, const Options&) {
  int64_t count = 0;
  double sum = 0;
  for (int64_t m = 0; m < a.rows; ++m) {
    count += a.target[m] != a.ignore_index ? 1 : 0;
    if (a.total != nullptr) sum += a.loss[m];
  }
  const float factor = a.mean ? row::mean_factor(count) : 1.0f;
  if (a.total != nullptr) *a.total = a.mean ? row::mean_loss(sum, count) : static_cast<float>(sum);
  if (a.scale != nullptr) *a.scale = (a.dloss != nullptr ? *a.dloss : 1.0f) * factor;
}

}  // namespace coda::cpu
