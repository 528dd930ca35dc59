// The rows are sorted by token, stably, and the sorted list is cut into pieces of 32: a warp adds
// up 256 columns of one. A token's rows that lie within a piece go to dE at once. Where they reach
// into other pieces, each piece leaves its share in the workspace, and a second kernel adds the
// shares up from the first to the last. So all warps have as much to do, also where all tokens are
// the same.
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <string>

#include "coda/rows/embedding_backward.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

constexpr int kPiece = 32;
constexpr int64_t kAlignment = 256;

// Shares of a piece: of the token that the piece before ends with, and of the one that goes on.
enum Share { kHead, kTail, kShares };

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
    const int64_t taken = (bytes + kAlignment - 1) / kAlignment * kAlignment;
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

template <class Token>
struct Keys {
  const Token* tokens;
  uint32_t *keys, *rows;
  int64_t count, vocabulary;
  int32_t* error;
};

template <class Token>
__global__ void __launch_bounds__(kThreads) make_keys(const __grid_constant__ Keys<Token> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= p.count) return;
  const auto token = static_cast<int64_t>(p.tokens[i]);
  const bool known = token >= 0 && token < p.vocabulary;
  p.keys[i] = static_cast<uint32_t>(known ? token : p.vocabulary);
  p.rows[i] = static_cast<uint32_t>(i);
  if (!known && p.error != nullptr) *p.error = 1;
}

template <class T, class Out>
struct Scatter {
  Lines<const T> dx;
  Lines<Out> out;
  const uint32_t *keys, *rows;
  Lines<float> shares;  // [2·pieces, pitch]
  int64_t count, columns, vocabulary, slabs;
  bool accumulate;
};

template <class T, class Out>
CODA_DEVICE void finish_row(const Scatter<T, Out>& p, uint32_t token, int64_t column, int count,
                            float (&sum)[kVector]) {
  Out* const to = p.out.line(token) + column;
  if (p.accumulate) {
    float before[kVector];
    load8(to, count, p.out.vectors, before);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum[i] += before[i];
  }
  store8(to, count, p.out.vectors, sum);
}

template <class T, class Out>
__global__ void __launch_bounds__(kThreads) scatter(const __grid_constant__ Scatter<T, Out> p) {
  constexpr int kBatch = 4;  // rows whose loads are in flight
  constexpr uint32_t kNone = 0xffffffffu;
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t piece = warp / p.slabs, begin = piece * kPiece;
  if (begin >= p.count) return;
  const int lane = static_cast<int>(ptx::lane());
  const int64_t column = warp % p.slabs * kWarpColumns + lane * kVector;
  const int count = count_from(column, p.columns);
  const int length = static_cast<int>(p.count - begin < kPiece ? p.count - begin : kPiece);

  const uint32_t key = lane < length ? p.keys[begin + lane] : kNone;
  const uint32_t row = lane < length ? p.rows[begin + lane] : 0;
  const uint32_t before = begin > 0 ? p.keys[begin - 1] : kNone;
  const uint32_t after = begin + kPiece < p.count ? p.keys[begin + kPiece] : kNone;

  float sum[kVector] = {};
  bool first = true;  // the run began where the piece does
  for (int base = 0; base < length; base += kBatch) {
    float x[kBatch][kVector];
    CODA_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const int64_t from = ptx::shuffle(row, (base + b) % kPiece);
      load8(p.dx.line(from) + column, base + b < length ? count : 0, p.dx.vectors, x[b]);
    }
    CODA_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const int i = base + b;
      const uint32_t mine = ptx::shuffle(key, i % kPiece);
      const uint32_t following = ptx::shuffle(key, (i + 1) % kPiece);
      if (i >= length) continue;
      CODA_UNROLL
      for (int j = 0; j < kVector; ++j) sum[j] += x[b][j];
      const uint32_t next = i + 1 < kPiece ? following : after;
      if (next == mine && i + 1 < length) continue;
      const bool comes_from_before = first && mine == before;
      const bool goes_on = i + 1 == kPiece && next == mine;
      if (mine != p.vocabulary) {
        if (comes_from_before || goes_on) {
          const int64_t share = piece * kShares + (comes_from_before ? kHead : kTail);
          store8(p.shares.line(share) + column, count, true, sum);
        } else {
          finish_row(p, mine, column, count, sum);
        }
      }
      CODA_UNROLL
      for (int j = 0; j < kVector; ++j) sum[j] = 0;
      first = false;
    }
  }
}

// The token that a piece ends with, where its rows begin in this piece and end in a later one.
template <class T, class Out>
__global__ void __launch_bounds__(kThreads) combine(const __grid_constant__ Scatter<T, Out> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t piece = warp / p.slabs, begin = piece * kPiece, end = begin + kPiece;
  if (end >= p.count) return;
  const uint32_t key = p.keys[end - 1];
  if (key == p.vocabulary || p.keys[end] != key) return;
  if (p.keys[begin] == key && begin > 0 && p.keys[begin - 1] == key) return;
  int64_t low = end, high = p.count;  // the first place behind them
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (p.keys[middle] == key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int64_t last = (low - 1) / kPiece;
  const int64_t column = warp % p.slabs * kWarpColumns + ptx::lane() * kVector;
  const int count = count_from(column, p.columns);
  if (count == 0) return;
  float sum[kVector];
  load8<float>(p.shares.line(piece * kShares + kTail) + column, count, true, sum);
#pragma unroll 4
  for (int64_t other = piece + 1; other <= last; ++other) {
    float share[kVector];
    load8<float>(p.shares.line(other * kShares + kHead) + column, count, true, share);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum[i] += share[i];
  }
  finish_row(p, key, column, count, sum);
}

void check_workspace(const EmbeddingBackwardArguments& a, const ProgramView& program,
                     int64_t bytes) {
  const auto fail = [&](const std::string& expected, const std::string& got) {
    fail_argument(program.name, "workspace", expected, got);
  };
  if (a.workspace == nullptr || a.workspace_bytes < bytes) {
    fail(std::to_string(bytes) + " bytes",
         a.workspace == nullptr ? "a null pointer" : std::to_string(a.workspace_bytes));
  }
  if (reinterpret_cast<uintptr_t>(a.workspace) % kAlignment != 0) {
    fail("memory aligned to " + std::to_string(kAlignment) + " bytes", "an address between");
  }
  int device = 0;
  cuda::check(cudaGetDevice(&device), "cudaGetDevice");
  cuda::check_device_memory(program.name, "workspace", a.workspace, device);
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
  const LaunchSite site{blocks_for(program, (warps + kWarps - 1) / kWarps), stream};
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
    check_workspace(a, program, w.bytes);
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
           {blocks_for(program, (M + kThreads - 1) / kThreads), stream, 0, a.accumulate}, p);
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
