#include "coda/rows/adamw.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/quad.cuh"

namespace coda::row {
namespace {

constexpr int kRows = 2;  // of a warp: eight loads in flight

template <class T>
struct Step {
  Lines<const float> gradient;
  Lines<float> m, v, master;
  Lines<T> weight, folded;
  Lines<const T> gamma;
  const float *rates, *clip;
  AdamwFactors factors;
  int64_t rows, columns;
  int64_t slabs;  // of 128 columns: a warp's
  bool vectors;   // in all of them lines begin at multiples of 16 bytes
};

// Of one row: four columns of a lane.
struct Elements {
  float gradient[kQuad], m[kQuad], v[kQuad], master[kQuad];
};

template <class T>
CODA_DEVICE Elements load(const Step<T>& p, int64_t row, int64_t column, int count, bool whole) {
  Elements e;
  if (whole) {
    load_quad(p.gradient.line(row) + column, e.gradient);
    load_quad(p.m.line(row) + column, e.m);
    load_quad(p.v.line(row) + column, e.v);
    load_quad(p.master.line(row) + column, e.master);
  } else {
    load_part(p.gradient.line(row) + column, count, e.gradient);
    load_part(p.m.line(row) + column, count, e.m);
    load_part(p.v.line(row) + column, count, e.v);
    load_part(p.master.line(row) + column, count, e.master);
  }
  return e;
}

template <class T>
CODA_DEVICE void store(const Lines<T>& lines, int64_t row, int64_t column, int count, bool whole,
                       const float (&v)[kQuad]) {
  T* const to = lines.line(row) + column;
  if (whole) {
    store_quad(to, v);
  } else {
    store_part(to, count, v);
  }
}

struct Rates {
  float clip, kept, rate, c2;  // kept = 1 − lr·decay, rate = lr·c1
};

CODA_DEVICE void update(const AdamwFactors& f, const Rates& rates, Elements& e) {
  CODA_UNROLL
  for (int i = 0; i < kQuad; ++i) {
    const float g = rates.clip * e.gradient[i];
    e.m[i] = f.beta1 * e.m[i] + f.rest1 * g;
    e.v[i] = f.beta2 * e.v[i] + f.rest2 * (g * g);
    const float ratio = e.m[i] / (sqrtf(e.v[i] * rates.c2) + f.epsilon);
    e.master[i] = e.master[i] * rates.kept - rates.rate * ratio;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, 4) step(const __grid_constant__ Step<T> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t row0 = warp / p.slabs * kRows;
  const int64_t column = warp % p.slabs * kQuadColumns + ptx::lane() * kQuad;
  const int count = quad_count(column, p.columns);
  if (row0 >= p.rows || count == 0) return;
  const bool whole = p.vectors && count == kQuad;

  Elements elements[kRows];
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    elements[r] = load(p, row0 + r < p.rows ? row0 + r : row0, column, count, whole);
  }
  float gamma[kQuad] = {};
  if (p.folded.data != nullptr) {
    if (whole) {
      load_quad(p.gamma.data + column, gamma);
    } else {
      load_part(p.gamma.data + column, count, gamma);
    }
  }
  const float clip = p.clip != nullptr ? *p.clip : 1.0f;
  if (!isfinite(clip)) return;
  const float lr = p.rates[0];
  const Rates rates{clip, 1 - lr * p.factors.decay, lr * p.rates[1], p.rates[2]};

  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = row0 + r;
    if (row >= p.rows) continue;
    Elements& e = elements[r];
    update(p.factors, rates, e);
    store(p.m, row, column, count, whole, e.m);
    store(p.v, row, column, count, whole, e.v);
    store(p.master, row, column, count, whole, e.master);
    if (p.weight.data != nullptr) store(p.weight, row, column, count, whole, e.master);
    if (p.folded.data == nullptr) continue;
    float folded[kQuad];
    CODA_UNROLL
    for (int i = 0; i < kQuad; ++i) {
      folded[i] = to_float(from_float<T>(e.master[i])) * gamma[i];
    }
    store(p.folded, row, column, count, whole, folded);
  }
}

template <class T>
void launch_step(const AdamwArguments& a, const ProgramView& program, cudaStream_t stream) {
  Step<T> p{.gradient = lines_of<const float>(a.gradient),
            .m = lines_of<float>(a.m),
            .v = lines_of<float>(a.v),
            .master = lines_of<float>(a.master),
            .weight = lines_of<T>(a.weight),
            .folded = lines_of<T>(a.folded),
            .gamma = lines_of<const T>(a.gamma),
            .rates = data_of<const float>(a.rates),
            .clip = data_of<const float>(a.clip),
            .factors = AdamwFactors(a),
            .rows = a.master.rows,
            .columns = a.master.columns};
  p.slabs = (p.columns + kQuadColumns - 1) / kQuadColumns;
  p.vectors = p.gradient.vectors && p.m.vectors && p.v.vectors && p.master.vectors &&
              (!a.weight || p.weight.vectors) &&
              (!a.folded || (p.folded.vectors && p.gamma.vectors));
  const int64_t warps = (p.rows + kRows - 1) / kRows * p.slabs;
  launch(step<T>, {blocks_for(program.name, (warps + kWarps - 1) / kWarps), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void adamw(const row::AdamwArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.master.empty()) return;
  if (weight_type(arguments) == DType::kBf16) {
    launch_step<bf16>(arguments, program, stream);
  } else {
    launch_step<float>(arguments, program, stream);
  }
}

}  // namespace coda::cuda
