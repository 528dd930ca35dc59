#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <string>

#include "coda/rows/embedding_backward.cuh"
#include "coda/rows/embedding_backward.h"

namespace coda::row {
namespace {

struct Workspace {
  uint32_t *keys, *rows, *sorted_keys, *sorted_rows;  // [M] each
  float* shares;                                      // [pieces, 2, pitch]
  std::byte* sort;
  size_t sort_bytes;
  int64_t pitch, bytes;
};

int64_t pieces_of(int64_t rows) { return (rows + kPiece - 1) / kPiece; }

// Out of range is the token behind the last.
int key_bits(int64_t vocabulary) { return std::bit_width(static_cast<uint64_t>(vocabulary)); }

cudaError_t sort(const Workspace& w, void* room, size_t& bytes, int64_t rows, int64_t vocabulary,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(room, bytes, w.keys, w.sorted_keys, w.rows, w.sorted_rows,
                                         static_cast<int>(rows), 0, key_bits(vocabulary), stream);
}

Workspace layout(const EmbeddingBackwardArguments& a) {
  const int64_t M = a.tokens.columns;
  Workspace w{};
  auto* next = static_cast<std::byte*>(a.workspace);
  const auto take = [&](int64_t bytes) {
    std::byte* const begin = next;
    const int64_t taken =
        (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    w.bytes += taken;
    if (next != nullptr) next += taken;
    return begin;
  };
  for (uint32_t** list : {&w.keys, &w.rows, &w.sorted_keys, &w.sorted_rows}) {
    *list = reinterpret_cast<uint32_t*>(take(M * int64_t{sizeof(uint32_t)}));
  }
  w.pitch = (a.out.columns + kVector - 1) / kVector * kVector;
  w.shares =
      reinterpret_cast<float*>(take(pieces_of(M) * kShares * w.pitch * int64_t{sizeof(float)}));
  cuda::check(sort(w, nullptr, w.sort_bytes, M, a.out.rows, nullptr), "DeviceRadixSort");
  w.sort = take(static_cast<int64_t>(w.sort_bytes));
  return w;
}

void check_size(const EmbeddingBackwardArguments& a, const ProgramView& program) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (a.tokens.columns > kMost || a.out.rows > kMost) {
    throw Error(program.name + ": expected fewer than 2^31 tokens and rows of dE on the GPU");
  }
}

template <class T, class Out>
void launch_scatter(const EmbeddingBackwardArguments& a, const ProgramView& program,
                    const Workspace& w, cudaStream_t stream) {
  Scatter<T, Out> p;
  p.dx = lines_of<const T>(a.dx);
  p.out = lines_of<Out>(a.out);
  p.keys = w.sorted_keys;
  p.rows = w.sorted_rows;
  p.shares = {w.shares, w.pitch, true};
  p.count = a.tokens.columns;
  p.columns = a.out.columns;
  p.vocabulary = a.out.rows;
  p.slabs = (p.columns + kWarpColumns - 1) / kWarpColumns;
  p.accumulate = a.accumulate;
  const int64_t warps = pieces_of(p.count) * p.slabs;
  const LaunchSite site{blocks_for(program.name, (warps + kWarps - 1) / kWarps), stream};
  launch(scatter<T, Out>, site, p);
  launch(combine<T, Out>, site, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

int64_t embedding_backward_workspace_bytes(const row::EmbeddingBackwardArguments& arguments) {
  row::check_size(arguments, row::validate(arguments));
  if (arguments.tokens.columns == 0 || arguments.out.empty()) return 0;
  row::EmbeddingBackwardArguments sizes = arguments;
  sizes.workspace = nullptr;
  return row::layout(sizes).bytes;
}

void embedding_backward(const row::EmbeddingBackwardArguments& a, CUstream_st* stream) {
  using namespace row;
  const ProgramView program = validate(a);
  check_size(a, program);
  check_on_device(program);
  const int64_t M = a.tokens.columns;
  const bool work = M > 0 && !a.out.empty();
  Workspace w{};
  if (work) {
    w = layout(a);
    check_workspace(program, {a.workspace, a.workspace_bytes}, w.bytes);
  }
  if (!a.accumulate && !a.out.empty()) {
    const auto bytes = static_cast<size_t>(a.out.element_bytes);
    check(cudaMemset2DAsync(data_of<void>(a.out), static_cast<size_t>(a.out.ld) * bytes, 0,
                            static_cast<size_t>(a.out.columns) * bytes,
                            static_cast<size_t>(a.out.rows), stream),
          "cudaMemset2DAsync");
  }
  if (!work) return;
  with_integer(a.tokens.dtype, [&]<class Token>() {
    const Keys<Token> p{data_of<const Token>(a.tokens), w.keys, w.rows, M, a.out.rows,
                        data_of<int32_t>(a.error)};
    // Not while a memset is under way.
    launch(make_keys<Token>,
           {blocks_for(program.name, (M + kThreads - 1) / kThreads), stream, kThreads, 0,
            a.accumulate},
           p);
  });
  check(sort(w, w.sort, w.sort_bytes, M, a.out.rows, stream), "DeviceRadixSort");
  with_element(a.dx.dtype, [&]<class T>() {
    if (a.out.dtype == DType::kFp32) {
      launch_scatter<T, float>(a, program, w, stream);
    } else {
      launch_scatter<T, bf16>(a, program, w, stream);
    }
  });
}

}  // namespace coda::cuda
