#include "coda/rows/norm_inputs.h"
#include "coda/rows/norm_rows.cuh"

namespace coda::row {
namespace {

template <class X, class T>
struct Read {
  NormRows<T> norm;
  Lines<const X> x;
};

template <class X, class T>
__global__ void __launch_bounds__(kThreads) read_rows(const __grid_constant__ Read<X, T> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const NormPlace at = norm_place(p.norm);
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

template <class X, class T>
void launch_read(const NormInputsArguments& a, const ProgramView& program, cudaStream_t stream) {
  const Read<X, T> p{norm_rows_of<T>(a.gamma, a.scaled, a.squares, a.x.columns),
                     lines_of<const X>(a.x)};
  launch(read_rows<X, T>, {norm_blocks(program.name, p.norm), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void norm_inputs(const row::NormInputsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.x.empty()) return;
  with_element(arguments.x.dtype, [&]<class X>() {
    if (arguments.gamma && arguments.gamma->dtype != arguments.x.dtype) {
      launch_read<X, bf16>(arguments, program, stream);
    } else {
      launch_read<X, X>(arguments, program, stream);
    }
  });
}

}  // namespace coda::cuda
