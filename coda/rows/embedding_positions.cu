#include "coda/rows/embedding_positions.h"
#include "coda/rows/norm_rows.cuh"

namespace coda::row {
namespace {

template <class T, class Out, class Token>
struct Gather {
  Lines<const T> table, places;
  Lines<Out> out;
  const Token *tokens, *positions;
  int32_t* error;
  int64_t table_rows, place_rows, rows, columns, slabs;
};

// -1: out of range, or beyond the last row.
template <class Token>
CODA_DEVICE int64_t index_at(const Token* indices, int64_t row, bool there, int64_t rows) {
  if (!there) return -1;
  const auto index = static_cast<int64_t>(indices[row]);
  return index >= 0 && index < rows ? index : -1;
}

template <class T>
CODA_DEVICE Pack<T> load_line(const Lines<const T>& lines, int64_t row, int64_t column, int count) {
  return load8(lines.line(row < 0 ? 0 : row) + column, row < 0 ? 0 : count, lines.vectors);
}

template <class T, class Out, class Token>
__global__ void __launch_bounds__(kThreads)
    gather(const __grid_constant__ Gather<T, Out, Token> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const NormPlace at = norm_place(p.rows, p.columns, p.slabs);
  if (at.rows == 0) return;
  const bool there = at.lane < at.rows;
  const int64_t token = index_at(p.tokens, at.row0 + at.lane, there, p.table_rows);
  const int64_t position = index_at(p.positions, at.row0 + at.lane, there, p.place_rows);
  if (there && (token < 0 || position < 0) && p.error != nullptr && at.slab == 0) *p.error = 1;
  Pack<T> what[kNormRows], where[kNormRows];
  CODA_UNROLL
  for (int r = 0; r < kNormRows; ++r) {
    what[r] = load_line(p.table, ptx::shuffle(token, r), at.column, at.count);
    where[r] = load_line(p.places, ptx::shuffle(position, r), at.column, at.count);
  }
  CODA_UNROLL
  for (int r = 0; r < kNormRows; ++r) {
    float x[kVector], y[kVector];
    unpack8(what[r], x);
    unpack8(where[r], y);
    const bool known = ptx::shuffle(token, r) >= 0 && ptx::shuffle(position, r) >= 0;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) x[i] = known ? x[i] + y[i] : __uint_as_float(0x7fc00000u);
    if (r < at.rows) store8(p.out.line(at.row0 + r) + at.column, at.count, p.out.vectors, x);
  }
}

template <class T, class Out, class Token>
void launch_gather(const EmbeddingPositionsArguments& a, const ProgramView& program,
                   cudaStream_t stream) {
  const Gather<T, Out, Token> p{lines_of<const T>(a.table),
                                lines_of<const T>(a.positions_table),
                                lines_of<Out>(a.out),
                                data_of<const Token>(a.tokens),
                                data_of<const Token>(a.positions),
                                data_of<int32_t>(a.error),
                                a.table.rows,
                                a.positions_table.rows,
                                a.out.rows,
                                a.out.columns,
                                slabs_of(a.out.columns)};
  launch(gather<T, Out, Token>, {norm_blocks(program.name, p.rows, p.slabs), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void embedding_positions(const row::EmbeddingPositionsArguments& arguments, cudaStream_t stream) {
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
