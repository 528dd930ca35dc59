// Two programs on the smallest tile there is, one value per thread: shows that what a kernel
// includes compiles for the GPU at run time, where there is no standard library but cuda::std.
#include "coda/program/program.h"
#include "examples/user_program/scaled_relu.h"

struct OneValue {
  template <class Element>
  using Lane = Element;
  static constexpr int count(coda::Space) { return 1; }
  static constexpr int project(coda::Space, int) { return 0; }
  template <class Element>
  static CODA_HD Element broadcast(Element value) {
    return value;
  }
  template <class Operation, class... Element>
  static CODA_HD auto apply(Operation operation, Element... element) {
    return operation(element...);
  }
};

template <coda::Space kSpace>
using Value = coda::Fragment<OneValue, float, kSpace>;

struct OneValueTile {
  float sum[2];
  int64_t i, j;  // where in the output this thread is

  CODA_HD auto accumulator(int index = 0) const {
    return Value<coda::Space::kElement>{{sum[index]}};
  }
  template <class T>
  CODA_HD auto load(const coda::PerRow<T>& port) const {
    return Value<coda::Space::kRow>{{coda::to_float(port.view[0].data[i])}};
  }
  template <class T>
  CODA_HD auto load(const coda::PerColumn<T>& port) const {
    return Value<coda::Space::kColumn>{{coda::to_float(port.view[0].data[j])}};
  }
  template <class T, class V>
  CODA_HD void store(const coda::Store<T>& port, const V& value) const {
    port.view[0].data[i * port.view[0].ld + j] = coda::from_float<T>(value.lane[0]);
  }
  template <class Reduction, class V>
  CODA_HD void reduce(const coda::RowReduce<Reduction>& port, const V& value) const {
    auto& state = port.view[0].data[j / coda::kPartialWidth * port.view[0].ld + i];
    state = Reduction::combine(state, Reduction::lift(value.lane[0]));
  }
};

struct GatedMath {                           // one of every function that programs may call
  coda::PerRow<const coda::bf16> rstd;       // [M]
  coda::Store<coda::bf16> out;               // [M, N]
  coda::Store<coda::fp16> half;              // [M, N]
  coda::RowReduce<coda::LogSumExp> log_sum;  // [⌈N/64⌉, M]
  static constexpr auto port_names = coda::names("rstd", "out", "half", "log_sum");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto scale = tile.load(rstd);
    const auto g = tile.accumulator(0) * scale, u = tile.accumulator(1) * scale;
    const auto curve =
        coda::silu(g) * u + coda::gelu(g) - coda::gelu_tanh(u) / (1.0f + coda::exp(g));
    const auto rest = coda::tanh(g) + coda::sigmoid(u) + coda::log(coda::abs(g) + 1.0f) +
                      coda::sqrt(coda::abs(u)) * coda::rsqrt(coda::abs(g) + 1.0f);
    tile.store(out, coda::fma(curve, rest, coda::clamp(g, -1.0f, 1.0f)));
    tile.store(half, coda::select(g < u && !(u > 2.0f), coda::min(g, u), coda::max(g, -u)));
    tile.reduce(log_sum, curve);
  }
};

static_assert(coda::check_program<ScaledRelu>() && coda::check_program<GatedMath>());

template <class Program>
__device__ void run(const Program& program, const float* sums, int64_t rows, int64_t columns) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= rows * columns) return;
  OneValueTile tile{{sums[index], sums[rows * columns + index]}, index / columns, index % columns};
  program(tile);
}

extern "C" __global__ void scaled_relu(ScaledRelu program, const float* sums, int64_t rows,
                                       int64_t columns) {
  run(program, sums, rows, columns);
}

extern "C" __global__ void gated_math(GatedMath program, const float* sums, int64_t rows,
                                      int64_t columns) {
  run(program, sums, rows, columns);
}
