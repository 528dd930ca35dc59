// The kernel that reads a stream for the norm behind it: norm_inputs and layer_norm_inputs.
#pragma once
#include "coda/rows/norm_rows.cuh"

namespace coda::row {

template <class X, class T, class State>
struct Read {
  NormRows<T, State> norm;
  Lines<const X> x;
};

template <class X, class T, class State>
__global__ void __launch_bounds__(kThreads) read_rows(const __grid_constant__ Read<X, T, State> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const NormPlace at = norm_place(p.norm.rows, p.norm.columns, p.norm.slabs);
  if (at.rows == 0) return;
  Pack<X> packs[kNormRows];
  if (p.x.vectors && at.count == kVector && at.rows == kNormRows) {
    CODA_UNROLL
    for (int r = 0; r < kNormRows; ++r) packs[r] = load_pack(p.x.line(at.row0 + r) + at.column);
  } else {
    CODA_UNROLL
    for (int r = 0; r < kNormRows; ++r) {
      packs[r] = load_elements(p.x.line(at.row0 + r) + at.column, r < at.rows ? at.count : 0);
    }
  }
  norm_rows(
      p.norm, at, [&](int r, float(&x)[kVector]) { unpack8(packs[r], x); },
      [](int, const float(&)[kVector]) {});
}

// scaled and gamma may be missing; partials: of State.
template <class X, class T, class State>
void launch_read(const ProgramView& program, const TensorView& x,
                 const std::optional<TensorView>& gamma, const std::optional<TensorView>& scaled,
                 const TensorView& partials, cudaStream_t stream) {
  const Read<X, T, State> p{norm_rows_of<T, State>(gamma, scaled, partials, x.columns),
                            lines_of<const X>(x)};
  launch(read_rows<X, T, State>, {norm_blocks(program.name, p.norm.rows, p.norm.slabs), stream}, p);
}

// γ has x's type, or is bf16 beside a stream of floats.
template <class State>
void launch_read(const ProgramView& program, const TensorView& x,
                 const std::optional<TensorView>& gamma, const std::optional<TensorView>& scaled,
                 const TensorView& partials, cudaStream_t stream) {
  with_element(x.dtype, [&]<class X>() {
    if (gamma && gamma->dtype != x.dtype) {
      launch_read<X, bf16, State>(program, x, gamma, scaled, partials, stream);
    } else {
      launch_read<X, X, State>(program, x, gamma, scaled, partials, stream);
    }
  });
}

}  // namespace coda::row
