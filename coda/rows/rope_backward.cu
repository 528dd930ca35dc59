#include <bit>
#include <string>

#include "coda/plan/per_device.h"
#include "coda/rows/rope_backward.cuh"
#include "coda/rows/rope_backward.h"

namespace coda::row {
namespace {

constexpr int kMostHeadDim = 256;

template <class T>
Segment<T> segment_of(const RopeBackwardSegment& s, int64_t head_dim) {
  return {lines_of<const T>(s.dy),   lines_of<const T>(s.y),    lines_of<T>(s.dz),
          lines_of<const T>(s.bias), lines_of<const T>(s.norm), lines_of<float>(s.dbias),
          lines_of<float>(s.dnorm),  s.dy.columns / head_dim};
}

bool has_options(const RopeBackwardArguments& a) {
  for (const auto* s : {&a.q, &a.k, &a.v}) {
    if (s->bias || s->dbias || s->norm) return true;
  }
  return false;
}

// With as much shared memory as any head takes, on the current device: the limit is the function's,
// and other threads launch it for heads of their own.
template <class T, bool kOptions>
auto kernel_of() {
  static cuda::PerDevice<bool> allowed;
  int device = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  allowed.get(device, [] {
    cuda::check(cudaFuncSetAttribute(rope_backward_kernel<T, kOptions>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes(kMostHeadDim))),
                "cudaFuncSetAttribute");
    return true;
  });
  return &rope_backward_kernel<T, kOptions>;
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void rope_backward(const row::RopeBackwardArguments& a, CUstream_st* stream) {
  using namespace row;
  using T = bf16;
  const ProgramView program = validate(a);
  if (a.head_dim % 16 != 0 || a.head_dim > kMostHeadDim) {
    fail_argument(program.name, "head_dim",
                  "a multiple of 16 up to " + std::to_string(kMostHeadDim) + " on the GPU",
                  std::to_string(a.head_dim));
  }
  if (a.q.dy.dtype != dtype_of<T>) {
    fail_argument(program.name, "dq", "elements of type bf16 on the GPU", dtype_name(a.q.dy.dtype));
  }
  check_on_device(program);
  if (a.q.dy.rows == 0) return;
  RopeBackward<T> p;
  p.segment[0] = segment_of<T>(a.q, a.head_dim);
  p.segment[1] = segment_of<T>(a.k, a.head_dim);
  p.segment[2] = segment_of<T>(a.v, a.head_dim);
  p.positions = a.positions.data;
  p.wide_positions = a.positions.dtype == DType::kInt64;
  p.cosines = data_of<const void>(a.cosines);
  p.sines = data_of<const void>(a.sines);
  p.float_tables = a.cosines && a.cosines->dtype == DType::kFp32;
  p.inv_freq = data_of<const float>(a.inv_freq);
  p.cosines_ld = ld_of(a.cosines);
  p.sines_ld = ld_of(a.sines);
  p.table_rows = a.cosines ? a.cosines->rows : 0;
  p.rstd = data_of<const float>(a.rstd);
  p.rstd_ld = a.rstd.ld;
  p.rstd_parts = a.rstd.rows;
  p.rstd_width = static_cast<float>(a.rstd_width);
  p.rstd_epsilon = static_cast<float>(a.rstd_epsilon);
  p.scale = static_cast<float>(a.scale);
  p.norm_epsilon = static_cast<float>(a.norm_epsilon);
  p.sums = data_of<float>(a.sums);
  p.sums_ld = a.sums.ld;
  p.rows = a.q.dy.rows;
  p.chunks = (a.sums.rows + kWarps - 1) / kWarps;
  p.head_dim = static_cast<int>(a.head_dim);
  p.lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(a.head_dim / 16)));
  const auto kernel = has_options(a) ? kernel_of<T, true>() : kernel_of<T, false>();
  launch(kernel,
         {blocks_for(program.name, parts_of(p.rows) * p.chunks), stream, kThreads,
          shared_bytes(a.head_dim)},
         p);
}

}  // namespace coda::cuda
