// Forward: keys and values are packed once; then every block of queries of every head goes through
// the blocks of keys up to its own position, with a running maximum and sum per query.
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "coda/attention/arithmetic.h"

namespace coda::attention {
namespace {

constexpr int64_t kQueries = 64, kKeys = 256;  // of a block, about

struct Sizes {
  Sizes(const Arithmetic& a, const Shape& shape)
      : queries(a.block_rows(kQueries, shape.tokens)),
        keys(a.block_rows(kKeys, shape.tokens)),
        columns(round_up(shape.head_dim, a.columns())),
        key_units(a.units(shape.head_dim)),
        packed_keys(round_up(shape.tokens, a.columns()) * key_units),
        packed_values(ceil_divide(shape.tokens, keys) * columns * a.units(keys)) {}

  int64_t queries, keys;  // of a block
  int64_t columns;        // of y's accumulators
  int64_t key_units;
  int64_t packed_keys, packed_values;  // units, of one head of one sequence
};

// Of one thread.
struct Scratch {
  Scratch(const Arithmetic& a, const Shape& shape, const Sizes& sizes, Carver& carver)
      : q(carver.take<char>(sizes.queries * shape.head_dim * a.block_bytes())),
        p(carver.take<char>(a.rows() * sizes.keys * a.block_bytes())),
        s(carver.take<float>(a.rows() * sizes.keys)),
        y(carver.take<float>(sizes.queries * sizes.columns)),
        max(carver.take<float>(sizes.queries)),
        sum(carver.take<float>(sizes.queries)) {}

  char* q;   // [queries, head_dim]
  char* p;   // [micro-tile's rows, keys]
  float* s;  // like p
  float* y;  // [queries, columns]
  float *max, *sum;
};

int64_t scratch_bytes(const Arithmetic& a, const Shape& shape, const Sizes& sizes) {
  Carver carver(nullptr);
  const Scratch scratch(a, shape, sizes, carver);
  return carver.bytes();
}

class ForwardRun {
 public:
  ForwardRun(const Arithmetic& a, const Shape& shape, const Forward& tensors, const Sizes& sizes,
             Carver& carver)
      : a_(a),
        shape_(shape),
        t_(tensors),
        sizes_(sizes),
        keys_(carver.take<uint32_t>(shape.batch * shape.kv_heads * sizes.packed_keys)),
        values_(carver.take<uint32_t>(shape.batch * shape.kv_heads * sizes.packed_values)) {}

  // Block `block` of a head's keys and values.
  void pack(int64_t sequence, int64_t head, int64_t block) const {
    const int64_t begin = block * sizes_.keys, count = std::min(sizes_.keys, shape_.tokens - begin);
    const TensorView k = head_of(t_.k, shape_, sequence, head);
    const TensorView v = head_of(t_.v, shape_, sequence, head);
    const int64_t index = sequence * shape_.kv_heads + head;
    a_.tensors.pack_b(rows_job(k, begin, count), keys_of(index, begin));
    a_.tensors.pack_b(columns_job(v, begin, count), values_of(index, begin));
  }

  void attend(int64_t sequence, int64_t head, int64_t block, const Scratch& scratch) const {
    const int64_t first = block * sizes_.queries;
    const int64_t count = std::min(sizes_.queries, shape_.tokens - first);
    const int64_t rows = round_up(count, a_.rows()), line = shape_.head_dim * a_.block_bytes();
    a_.steps.copy(rows_of(head_of(t_.q, shape_, sequence, head), first, count), scratch.q);
    std::memset(scratch.q + count * line, 0, static_cast<size_t>((rows - count) * line));
    std::fill_n(scratch.max, rows, std::numeric_limits<float>::lowest());
    const int64_t kv_head = head / (shape_.heads / shape_.kv_heads);
    const int64_t kv_index = sequence * shape_.kv_heads + kv_head;
    for (int64_t begin = 0; begin < first + count; begin += sizes_.keys) {
      for (int64_t row = 0; row < rows; row += a_.rows()) {
        if (begin <= first + row) attend_rows(kv_index, first, row, begin, scratch);
      }
    }
    float* const lse = static_cast<float*>(const_cast<void*>(t_.lse.data)) + head * t_.lse.ld +
                       sequence * shape_.tokens + first;
    for (int64_t i = 0; i < count; ++i) lse[i] = scratch.max[i] + std::log(scratch.sum[i]);
    a_.steps.store_quotient(scratch.y, sizes_.columns, scratch.sum,
                            rows_of(head_of(t_.y, shape_, sequence, head), first, count));
  }

 private:
  // Panels over keys, and values of the block that begins there: panels over head_dim.
  uint32_t* keys_of(int64_t index, int64_t begin) const {
    return keys_ + index * sizes_.packed_keys + begin * sizes_.key_units;
  }
  uint32_t* values_of(int64_t index, int64_t begin) const {
    return values_ + index * sizes_.packed_values +
           begin / sizes_.keys * sizes_.columns * a_.units(sizes_.keys);
  }

  // A micro-tile's rows of queries, [row, ...) of those from `first` on, with the block of keys
  // from `begin` on. Blocks begin at whole micro-tiles: all rows see its first key.
  void attend_rows(int64_t kv_index, int64_t first, int64_t row, int64_t begin,
                   const Scratch& scratch) const {
    const int64_t stored = std::min(sizes_.keys, shape_.tokens - begin);
    const int64_t keys = std::min(stored, first + row + a_.rows() - begin);
    const int64_t line = shape_.head_dim * a_.block_bytes();
    float* const y = scratch.y + row * sizes_.columns;
    a_.multiply_lines(sizes_.key_units, scratch.q + row * line, line, keys_of(kv_index, begin),
                      sizes_.key_units, scratch.s, sizes_.keys, keys, false);
    a_.steps.softmax({.rows = a_.rows(),
                      .first_valid = first + row + 1 - begin,
                      .keys = keys,
                      .scale = shape_.scale,
                      .scores = scratch.s,
                      .scores_ld = sizes_.keys,
                      .probabilities = scratch.p,
                      .probabilities_ld = sizes_.keys,
                      .max = scratch.max + row,
                      .sum = scratch.sum + row,
                      .y = begin > 0 ? y : nullptr,
                      .y_columns = sizes_.columns});
    a_.multiply_lines(a_.units(keys), scratch.p, sizes_.keys * a_.block_bytes(),
                      values_of(kv_index, begin), a_.units(stored), y, sizes_.columns,
                      shape_.head_dim, begin > 0);
  }

  const Arithmetic& a_;
  const Shape& shape_;
  Forward t_;
  const Sizes& sizes_;
  uint32_t *keys_, *values_;
};

}  // namespace

int64_t forward_bytes(const Arithmetic& a, const Shape& shape, int threads) {
  const Sizes sizes(a, shape);
  Carver carver(nullptr);
  const ForwardRun run(a, shape, {}, sizes, carver);
  return carver.bytes() + threads * scratch_bytes(a, shape, sizes);
}

void run_forward(const Arithmetic& a, const Shape& shape, const Forward& tensors, int threads,
                 void* workspace) {
  const Sizes sizes(a, shape);
  Carver shared(workspace);
  const ForwardRun run(a, shape, tensors, sizes, shared);
  const int64_t key_blocks = ceil_divide(shape.tokens, sizes.keys);
  const int64_t query_blocks = ceil_divide(shape.tokens, sizes.queries);
#pragma omp parallel num_threads(threads)
  {
    Carver carver = shared;
    carver.take<char>(omp_get_thread_num() * scratch_bytes(a, shape, sizes));
    const Scratch scratch(a, shape, sizes, carver);
#pragma omp for schedule(dynamic, 1) collapse(3)
    for (int64_t sequence = 0; sequence < shape.batch; ++sequence) {
      for (int64_t head = 0; head < shape.kv_heads; ++head) {
        for (int64_t block = 0; block < key_blocks; ++block) run.pack(sequence, head, block);
      }
    }
#pragma omp for schedule(dynamic, 1) collapse(3)
    for (int64_t sequence = 0; sequence < shape.batch; ++sequence) {
      for (int64_t head = 0; head < shape.heads; ++head) {
        for (int64_t block = 0; block < query_blocks; ++block) {
          run.attend(sequence, head, query_blocks - 1 - block, scratch);  // the longest first
        }
      }
    }
  }
}

}  // namespace coda::attention
