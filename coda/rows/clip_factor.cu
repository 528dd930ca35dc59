#include "coda/rows/clip_factor.h"
#include "coda/rows/wide_sum.cuh"

namespace coda::row {
namespace {

constexpr int64_t kChunk = 8 * kThreads * kQuad;  // of a block: eight loads of a thread

struct ClipFactor {
  Lines<const float> squares;
  double* sums;  // of the chunks
  float *norm, *factor;
  int64_t count, chunks;
  double max_norm;
};

__global__ void __launch_bounds__(kThreads) sum_chunks(const __grid_constant__ ClipFactor p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t begin = blockIdx.x * kChunk, left = p.count - begin;
  const double sum = sum_quads(p.squares.data + begin, left < kChunk ? left : kChunk,
                               static_cast<int>(threadIdx.x), kThreads, p.squares.vectors,
                               [](double v) { return v; });
  const double total = sum_warps<kWarps>(sum);
  if (threadIdx.x == 0) p.sums[blockIdx.x] = total;
}

// One block.
__global__ void __launch_bounds__(kThreads) finish(const __grid_constant__ ClipFactor p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.chunks; i += kThreads) sum += p.sums[i];
  const double norm = sqrt(sum_warps<kWarps>(sum));
  if (threadIdx.x > 0) return;
  *p.norm = static_cast<float>(norm);
  *p.factor = factor_of(norm, p.max_norm);
}

int64_t chunks_of(const ClipFactorArguments& a) {
  return (a.squares.columns + kChunk - 1) / kChunk;
}
int64_t bytes_of(const ClipFactorArguments& a) { return chunks_of(a) * int64_t{sizeof(double)}; }

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

int64_t clip_factor_workspace_bytes(const row::ClipFactorArguments& arguments) {
  row::validate(arguments);
  return row::bytes_of(arguments);
}

void clip_factor(const row::ClipFactorArguments& a, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(a);
  check_on_device(program);
  const int64_t chunks = chunks_of(a);
  if (chunks > 0) check_workspace(program, {a.workspace, a.workspace_bytes}, bytes_of(a));
  const ClipFactor p{lines_of<const float>(a.squares),
                     static_cast<double*>(a.workspace),
                     data_of<float>(a.norm),
                     data_of<float>(a.factor),
                     a.squares.columns,
                     chunks,
                     a.max_norm};
  launch(sum_chunks, {blocks_for(program.name, chunks), stream}, p);
  launch(finish, {1, stream}, p);
}

}  // namespace coda::cuda
