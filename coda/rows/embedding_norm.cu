#include "coda/rows/embedding_norm.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

constexpr int kRows = 8;  // of a warp: so many loads in flight, and a sector of partials

template <class T, class Out, class Token>
struct Gather {
  Lines<const T> table, gamma;
  Lines<Out> out;
  Lines<T> scaled;
  const Token* tokens;
  float* squares;
  int64_t squares_ld, parts;
  int32_t* error;
  int64_t vocabulary, rows, columns;
  int64_t slabs;  // of 256 columns: a warp's
};

template <class T, class Out, class Token>
__global__ void __launch_bounds__(kThreads)
    gather(const __grid_constant__ Gather<T, Out, Token> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t row0 = warp / p.slabs * kRows, slab = warp % p.slabs;
  if (row0 >= p.rows) return;
  const int lane = static_cast<int>(ptx::lane());
  const int64_t column = slab * kWarpColumns + lane * kVector;
  const int count = count_from(column, p.columns);
  const int rows = static_cast<int>(p.rows - row0 < kRows ? p.rows - row0 : kRows);

  // -1: out of range, or beyond the last row
  int64_t token = -1;
  if (lane < rows) {
    token = static_cast<int64_t>(p.tokens[row0 + lane]);
    if (token < 0 || token >= p.vocabulary) {
      token = -1;
      if (p.error != nullptr && slab == 0) *p.error = 1;
    }
  }
  // What is out of range reads the first row; it becomes NaN, or is not stored, below.
  const T* from[kRows];
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = ptx::shuffle(token, r);
    from[r] = p.table.line(row < 0 ? 0 : row) + column;
  }
  Pack<T> packs[kRows];
  const int there = p.vocabulary > 0 ? count : 0;
  if (p.table.vectors && there == kVector) {
    CODA_UNROLL
    for (int r = 0; r < kRows; ++r) packs[r] = load_pack(from[r]);
  } else {
    CODA_UNROLL
    for (int r = 0; r < kRows; ++r) packs[r] = load_elements(from[r], there);
  }
  float gamma[kVector];
  if (p.scaled.data != nullptr) {
    unpack8(load8(p.gamma.data + column, count, p.gamma.vectors), gamma);
  }

  float kept = 0;  // of eight lanes, which cover 64 columns, the r-th has the sum of row r
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    float x[kVector], sum = 0;
    unpack8(packs[r], x);
    if (ptx::shuffle(token, r) < 0) {
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) x[i] = __uint_as_float(0x7fc00000u);
    }
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum += x[i] * x[i];
    sum = sum_lanes<8>(sum);
    if (lane % kRows == r) kept = sum;
    if (r >= rows) continue;
    store8(p.out.line(row0 + r) + column, count, p.out.vectors, x);
    if (p.scaled.data == nullptr) continue;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) x[i] *= gamma[i];
    store8(p.scaled.line(row0 + r) + column, count, p.scaled.vectors, x);
  }
  const int64_t part = slab * (kWarpColumns / kPartialWidth) + lane / kRows;
  if (part < p.parts && lane % kRows < rows) {
    p.squares[part * p.squares_ld + row0 + lane % kRows] = kept;
  }
}

template <class T, class Out, class Token>
void launch_gather(const EmbeddingNormArguments& a, const ProgramView& program,
                   cudaStream_t stream) {
  Gather<T, Out, Token> p;
  p.table = lines_of<const T>(a.table);
  p.gamma = lines_of<const T>(a.gamma);
  p.out = lines_of<Out>(a.out);
  p.scaled = lines_of<T>(a.scaled);
  p.tokens = data_of<const Token>(a.tokens);
  p.squares = data_of<float>(a.squares);
  p.squares_ld = a.squares.ld;
  p.parts = a.squares.rows;
  p.error = data_of<int32_t>(a.error);
  p.vocabulary = a.table.rows;
  p.rows = a.tokens.columns;
  p.columns = a.table.columns;
  p.slabs = (p.columns + kWarpColumns - 1) / kWarpColumns;
  const int64_t warps = (p.rows + kRows - 1) / kRows * p.slabs;
  launch(gather<T, Out, Token>, {blocks_for(program.name, (warps + kWarps - 1) / kWarps), stream},
         p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void embedding_norm(const row::EmbeddingNormArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.out.empty()) return;
  with_element(arguments.table.dtype, [&]<class T>() {
    with_integer(arguments.tokens.dtype, [&]<class Token>() {
      if (arguments.out.dtype == arguments.table.dtype) {
        launch_gather<T, T, Token>(arguments, program, stream);
      } else {
        launch_gather<T, float, Token>(arguments, program, stream);
      }
    });
  });
}

}  // namespace coda::cuda
