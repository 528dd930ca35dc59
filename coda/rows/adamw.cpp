#include "coda/rows/adamw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/cpu/threads.h"
#include "coda/rows/widest.h"

namespace coda::row {
namespace {

constexpr const char* kName = "adamw";
constexpr int64_t kColumns = 2048;  // of a thread at a time: they stay in its cache

struct Step {
  AdamwFactors factors;
  float clip, kept, rate, c2;  // kept = 1 − lr·decay, rate = lr·c1
};

struct Line {
  const float* gradient;
  float *m, *v, *master;
};

CODA_WIDEST void update(const Step& step, const Line& line, int64_t count) {
  const AdamwFactors f = step.factors;
  const float clip = step.clip, kept = step.kept, rate = step.rate, c2 = step.c2;
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) {
    const float g = clip * line.gradient[j];
    const float m = f.beta1 * line.m[j] + f.rest1 * g;
    const float v = f.beta2 * line.v[j] + f.rest2 * (g * g);
    line.m[j] = m;
    line.v[j] = v;
    line.master[j] = line.master[j] * kept - rate * (m / (std::sqrt(v * c2) + f.epsilon));
  }
}

template <class T>
CODA_WIDEST void round_all(const float* master, int64_t count, T* weight) {
  for (int64_t j = 0; j < count; ++j) weight[j] = from_float<T>(master[j]);
}

template <class T>
CODA_WIDEST void fold_all(const float* master, const T* gamma, int64_t count, T* folded) {
  for (int64_t j = 0; j < count; ++j) {
    folded[j] = from_float<T>(to_float(from_float<T>(master[j])) * to_float(gamma[j]));
  }
}

template <class T>
void step_all(const AdamwArguments& a, const Step& step, int threads) {
  const int64_t columns = a.master.columns;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
  for (int64_t i = 0; i < a.master.rows; ++i) {
    for (int64_t begin = 0; begin < columns; begin += kColumns) {
      const int64_t count = std::min(kColumns, columns - begin);
      const auto at = [&](const TensorView& view) {
        return data_of<float>(view) + i * view.ld + begin;
      };
      update(step, {at(a.gradient), at(a.m), at(a.v), at(a.master)}, count);
      if (a.weight) {
        round_all(at(a.master), count, data_of<T>(a.weight) + i * a.weight->ld + begin);
      }
      if (a.folded) {
        fold_all(at(a.master), data_of<const T>(a.gamma) + begin, count,
                 data_of<T>(a.folded) + i * a.folded->ld + begin);
      }
    }
  }
}

}  // namespace

ProgramView validate(const AdamwArguments& a) {
  const int64_t N = a.master.rows, K = a.master.columns;
  TensorCheck check(kName);
  check.output("master", a.master, {N, K}, {DType::kFp32});
  check.output("m", a.m, {N, K}, {DType::kFp32});
  check.output("v", a.v, {N, K}, {DType::kFp32});
  check.input("gradient", a.gradient, {N, K}, {DType::kFp32});
  check.input("rates", a.rates, {1, 3}, {DType::kFp32});
  if (a.clip) check.input("clip", *a.clip, {1, 1}, {DType::kFp32});
  if (a.weight) check.output("weight", *a.weight, {N, K}, {DType::kBf16, DType::kFp32});
  check.together("gamma", a.gamma.has_value(), "folded", a.folded.has_value());
  if (a.folded) {
    if (!a.weight) {
      check.output("folded", *a.folded, {N, K}, {DType::kBf16, DType::kFp32});
    } else {
      check.output("folded", *a.folded, {N, K}, {a.weight->dtype});
    }
    check.input("gamma", *a.gamma, {1, K}, {a.folded->dtype});
  }
  const auto beta = [&](const char* name, double value) {
    if (value >= 0 && value < 1) return;
    check.fail(name, "a number of at least 0 and below 1", fmt::format("{}", value));
  };
  beta("beta1", a.beta1);
  beta("beta2", a.beta2);
  // In fp32, as it is added: 0/0 is NaN where a gradient has always been 0.
  const auto epsilon = static_cast<float>(a.epsilon), decay = static_cast<float>(a.decay);
  if (!(epsilon > 0 && std::isfinite(epsilon))) {
    check.fail("epsilon", "a number above 0 in fp32", fmt::format("{}", a.epsilon));
  }
  if (!(decay >= 0 && std::isfinite(decay))) {
    check.fail("decay", "a number of at least 0", fmt::format("{}", a.decay));
  }
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void adamw(const row::AdamwArguments& arguments, int asked_threads) {
  using namespace row;
  validate(arguments);
  const int threads = thread_count(kName, asked_threads);
  const auto* const rates = data_of<const float>(arguments.rates);
  const float clip = arguments.clip ? *data_of<const float>(arguments.clip) : 1.0f;
  if (!std::isfinite(clip)) return;
  const AdamwFactors factors(arguments);
  const Step step{factors, clip, 1 - rates[0] * factors.decay, rates[0] * rates[1], rates[2]};
  if (weight_type(arguments) == DType::kBf16) {
    step_all<bf16>(arguments, step, threads);
  } else {
    step_all<float>(arguments, step, threads);
  }
}

}  // namespace coda::cpu
