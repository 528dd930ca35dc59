#include "coda/rows/embedding_norm.h"
#include "coda/rows/norm_rows.cuh"

namespace coda::row {
namespace {

template <class T, class Out, class Token>
struct Gather {
  NormRows<T> norm;
  Lines<const T> table;
  Lines<Out> out;
  const Token* tokens;
  int32_t* error;
  int64_t vocabulary;
};

template <class T, class Out, class Token>
__global__ void __launch_bounds__(kThreads)
    gather(const __grid_constant__ Gather<T, Out, Token> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const NormPlace at = norm_place(p.norm.rows, p.norm.columns, p.norm.slabs);
  if (at.rows == 0) return;

  // -1: out of range, or beyond the last row
  int64_t token = -1;
  if (at.lane < at.rows) {
    token = static_cast<int64_t>(p.tokens[at.row0 + at.lane]);
    if (token < 0 || token >= p.vocabulary) {
      token = -1;
      if (p.error != nullptr && at.slab == 0) *p.error = 1;
    }
  }
  // What is out of range reads the first row; it becomes NaN, or is not stored, below.
  const T* from[kNormRows];
  CODA_UNROLL
  for (int r = 0; r < kNormRows; ++r) {
    const int64_t row = ptx::shuffle(token, r);
    from[r] = p.table.line(row < 0 ? 0 : row) + at.column;
  }
  Pack<T> packs[kNormRows];
  const int there = p.vocabulary > 0 ? at.count : 0;
  if (p.table.vectors && there == kVector) {
    CODA_UNROLL
    for (int r = 0; r < kNormRows; ++r) packs[r] = load_pack(from[r]);
  } else {
    CODA_UNROLL
    for (int r = 0; r < kNormRows; ++r) packs[r] = load_elements(from[r], there);
  }
  const auto of = [&](int r, float(&x)[kVector]) {
    unpack8(packs[r], x);
    if (ptx::shuffle(token, r) >= 0) return;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) x[i] = __uint_as_float(0x7fc00000u);
  };
  norm_rows(p.norm, at, of, [&](int r, const float(&x)[kVector]) {
    store8(p.out.line(at.row0 + r) + at.column, at.count, p.out.vectors, x);
  });
}

template <class T, class Out, class Token>
void launch_gather(const EmbeddingNormArguments& a, const ProgramView& program,
                   cudaStream_t stream) {
  const Gather<T, Out, Token> p{norm_rows_of<T>(a.gamma, a.scaled, a.squares, a.table.columns),
                                lines_of<const T>(a.table),
                                lines_of<Out>(a.out),
                                data_of<const Token>(a.tokens),
                                data_of<int32_t>(a.error),
                                a.table.rows};
  launch(gather<T, Out, Token>, {norm_blocks(program.name, p.norm.rows, p.norm.slabs), stream}, p);
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
