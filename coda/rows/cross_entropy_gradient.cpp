#include "coda/rows/cross_entropy_gradient.h"

#include <cmath>
#include <limits>

#include "coda/cpu/run.h"
#include "coda/cpu/threads.h"
#include "coda/rows/thread_room.h"

namespace coda::row {
namespace {

// Of the norm before the head.
template <class T>
float row_factor(const CrossEntropyGradientArguments<T>& a, int64_t m) {
  if (!a.rstd.given) return 1;
  const auto& squares = a.rstd.view[0];
  float sum = 0;
  for (int64_t part = 0; part < squares.rows; ++part) sum += squares.data[part * squares.ld + m];
  return a.rstd.finish.finish(sum);
}

// values, slopes: room for a row; slopes are those of the soft cap, where there is one.
template <class T>
void gradient_of_row(const CrossEntropyGradientArguments<T>& a, int64_t m, float* values,
                     float* slopes) {
  const int64_t V = a.logits.columns;
  const float cap = a.soft_cap, elsewhere = a.smoothing / static_cast<float>(V);
  const T* z = a.logits.data + m * a.logits.ld;
  T* out = a.out.data + m * a.out.ld;
  if (a.target[m] == a.ignore_index) {
    for (int64_t v = 0; v < V; ++v) out[v] = from_float<T>(0.0f);
    if (a.dots != nullptr) a.dots[m] = 0;
    return;
  }
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t v = 0; v < V; ++v) {
    float x = to_float(z[v]);
    if (cap > 0) {
      const float t = std::tanh(x / cap);
      slopes[v] = 1 - t * t;
      x = cap * t;
    }
    values[v] = x;
    top = x > top ? x : top;
  }
  double sum = 0;
  for (int64_t v = 0; v < V; ++v) sum += values[v] = std::exp(values[v] - top);
  const float plus = (1 + 2 * a.z_loss * a.lse[m]) / static_cast<float>(sum);
  const float factor = (a.dloss != nullptr ? a.dloss[m] : 1.0f) * *a.scale;
  const float r = row_factor(a, m);
  double dot = 0;
  for (int64_t v = 0; v < V; ++v) {
    const float on_target = v == a.target[m] ? 1 - a.smoothing : 0;
    float dz = (values[v] * plus - elsewhere - on_target) * factor;
    if (cap > 0) dz *= slopes[v];
    dot += to_float(z[v]) * dz;
    out[v] = from_float<T>(dz * r);
  }
  if (a.dots != nullptr) a.dots[m] = static_cast<float>(dot);
}

}  // namespace
}  // namespace coda::row

namespace coda::cpu {

template <class T>
void cross_entropy_gradient(const row::CrossEntropyGradientArguments<T>& a,
                            const Options& options) {
  const int threads = cpu::thread_count("linear_cross_entropy_backward", options.threads);
  const int64_t V = a.logits.columns;
  const row::ThreadRoom room(threads, a.soft_cap > 0 ? 2 * V : V);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t m = 0; m < a.logits.rows; ++m) {
    row::gradient_of_row(a, m, room.mine(), room.mine() + V);
  }
}

template void cross_entropy_gradient<bf16>(const row::CrossEntropyGradientArguments<bf16>&,
                                           const Options&);
template void cross_entropy_gradient<float>(const row::CrossEntropyGradientArguments<float>&,
                                            const Options&);

}  // namespace coda::cpu
