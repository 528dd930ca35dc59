// Backward, for every key head of every sequence: the query heads of its group one after the other,
// for each block of keys the blocks of queries that see them. Scores are made again, transposed:
//   pᵀ = exp(scale·k·qᵀ - lse), dpᵀ = v·dyᵀ, dsᵀ = pᵀ·(dpᵀ - delta)
//   dv = Σ pᵀ·dy, dk = scale·Σ dsᵀ·q, dq = scale·Σ ds·k
// delta = Σ dy·y = Σ p·dp, which where one key has most of the weight is nearly its dp. In bf16 it
// is taken from y. In fp32 what is left would be the rounding errors of the two sums over head_dim;
// it is taken from p and dp, at the price of making these once more.
#include <omp.h>

#include <cstring>

#include "coda/attention/arithmetic.h"

namespace coda::attention {
namespace {

constexpr int64_t kTokens = 128;  // of a block, about

struct Sizes {
  Sizes(const Arithmetic& a, const Shape& shape)
      : block(a.block_rows(kTokens, shape.tokens)),
        tokens(round_up(shape.tokens, block)),
        columns(round_up(shape.head_dim, a.columns())),
        units(a.units(shape.head_dim)),
        block_units(a.units(block)) {}

  int64_t block, tokens;  // tokens: whole blocks of them
  int64_t columns;        // of accumulators
  int64_t units;          // of head_dim
  int64_t block_units;
};

// Of one thread.
struct Scratch {
  Scratch(const Arithmetic& a, const Shape& shape, const Sizes& sizes, Carver& carver)
      : q_rows(carver.take<uint32_t>(sizes.tokens * sizes.units)),
        dy_rows(carver.take<uint32_t>(sizes.tokens * sizes.units)),
        y_rows(carver.take<uint32_t>(a.columns() * sizes.units)),
        q_columns(carver.take<uint32_t>(sizes.tokens / sizes.block * block_panels(sizes))),
        dy_columns(carver.take<uint32_t>(sizes.tokens / sizes.block * block_panels(sizes))),
        k_columns(carver.take<uint32_t>(block_panels(sizes))),
        ds_panels(
            carver.take<uint32_t>(round_up(sizes.block, a.blocks.padding) * sizes.block_units)),
        k(carver.take<char>(sizes.block * shape.head_dim * a.block_bytes())),
        v(carver.take<char>(sizes.block * shape.head_dim * a.block_bytes())),
        p(carver.take<char>(sizes.block * sizes.block * a.block_bytes())),
        ds(carver.take<char>(sizes.block * sizes.block * a.block_bytes())),
        s(carver.take<float>(a.rows() * sizes.block)),
        dp(carver.take<float>(a.rows() * sizes.block)),
        lse(carver.take<float>(sizes.tokens)),
        delta(carver.take<float>(sizes.tokens)),
        weights(carver.take<float>(sizes.tokens)),
        dq(carver.take<float>(sizes.tokens * sizes.columns)),
        dk(carver.take<float>(sizes.tokens * sizes.columns)),
        dv(carver.take<float>(sizes.tokens * sizes.columns)) {}

  static int64_t block_panels(const Sizes& sizes) { return sizes.columns * sizes.block_units; }

  uint32_t *q_rows, *dy_rows;        // panels over queries, of a whole head
  uint32_t* y_rows;                  // one panel
  uint32_t *q_columns, *dy_columns;  // panels over head_dim, block by block
  uint32_t* k_columns;               // of one block
  uint32_t* ds_panels;               // of one block of queries: rows of a product with k
  char *k, *v;                       // [block, head_dim]
  char *p, *ds;                      // [block of keys, block of queries]
  float *s, *dp;                     // [micro-tile's rows, block of queries]
  float *lse, *delta, *weights;      // [tokens]
  float* dq;                         // [tokens, columns], of one query head
  float *dk, *dv;                    // likewise, of the group
};

int64_t scratch_bytes(const Arithmetic& a, const Shape& shape, const Sizes& sizes) {
  Carver carver(nullptr);
  const Scratch scratch(a, shape, sizes, carver);
  return carver.bytes();
}

// One key head of one sequence.
class BackwardRun {
 public:
  BackwardRun(const Arithmetic& a, const Shape& shape, const Backward& tensors, const Sizes& sizes,
              const Scratch& scratch, int64_t sequence, int64_t kv_head)
      : a_(a),
        shape_(shape),
        t_(tensors),
        sizes_(sizes),
        w_(scratch),
        sequence_(sequence),
        kv_head_(kv_head),
        line_(shape.head_dim * a.block_bytes()) {}

  void run() const {
    const int64_t group = shape_.heads / shape_.kv_heads;
    for (int64_t i = 0; i < group; ++i) {
      const int64_t head = kv_head_ * group + i;
      pack_queries(head);
      if (t_.q.dtype == DType::kFp32) {
        deltas_from_p();
      } else {
        deltas_from_y(head);
      }
      for (int64_t keys = 0; keys < shape_.tokens; keys += sizes_.block) {
        load_keys(keys);
        for (int64_t queries = keys; queries < shape_.tokens; queries += sizes_.block) {
          key_gradients(keys, queries, i == 0 && queries == keys);
          query_gradients(keys, queries);
        }
      }
      store(w_.dq, shape_.scale, t_.dq, head);
    }
    store(w_.dk, shape_.scale, t_.dk, kv_head_);
    store(w_.dv, 1, t_.dv, kv_head_);
  }

 private:
  TensorView head_of(const TensorView& tensor, int64_t head) const {
    return attention::head_of(tensor, shape_, sequence_, head);
  }
  int64_t count(int64_t begin) const { return std::min(sizes_.block, shape_.tokens - begin); }

  void pack_queries(int64_t head) const {
    const TensorView q = head_of(t_.q, head), dy = head_of(t_.dy, head);
    a_.tensors.pack_b(rows_job(q, 0, shape_.tokens), w_.q_rows);
    a_.tensors.pack_b(rows_job(dy, 0, shape_.tokens), w_.dy_rows);
    for (int64_t begin = 0; begin < shape_.tokens; begin += sizes_.block) {
      a_.tensors.pack_b(columns_job(q, begin, count(begin)), w_.q_columns + begin_units(begin));
      a_.tensors.pack_b(columns_job(dy, begin, count(begin)), w_.dy_columns + begin_units(begin));
    }
    const float* const lse =
        static_cast<const float*>(t_.lse.data) + head * t_.lse.ld + sequence_ * shape_.tokens;
    std::copy_n(lse, shape_.tokens, w_.lse);
    std::fill(w_.lse + shape_.tokens, w_.lse + sizes_.tokens, 0.0f);
  }
  int64_t begin_units(int64_t begin) const {  // of the panels over head_dim
    return begin / sizes_.block * Scratch::block_panels(sizes_);
  }

  void deltas_from_y(int64_t head) const {
    const TensorView y = head_of(t_.y, head);
    for (int64_t begin = 0; begin < shape_.tokens; begin += a_.columns()) {
      const int64_t rows = std::min(a_.columns(), shape_.tokens - begin);
      a_.tensors.pack_b(rows_job(y, begin, rows), w_.y_rows);
      a_.steps.panel_dots(w_.dy_rows + begin * sizes_.units, w_.y_rows, sizes_.units, a_.columns(),
                          w_.delta + begin);
    }
  }

  void deltas_from_p() const {
    std::fill_n(w_.delta, sizes_.tokens, 0.0f);
    std::fill_n(w_.weights, sizes_.tokens, 0.0f);
    for (int64_t keys = 0; keys < shape_.tokens; keys += sizes_.block) {
      load_keys(keys);
      for (int64_t queries = keys; queries < shape_.tokens; queries += sizes_.block) {
        for (int64_t row = 0; row < count(keys); row += a_.rows()) {
          a_.steps.weigh(scores(keys, row, queries), w_.weights + queries, w_.delta + queries);
        }
      }
    }
    for (int64_t i = 0; i < shape_.tokens; ++i) w_.delta[i] /= w_.weights[i];
  }

  void load_keys(int64_t keys) const {
    const TensorView k = head_of(t_.k, kv_head_), v = head_of(t_.v, kv_head_);
    const int64_t loaded = count(keys), rows = round_up(loaded, a_.rows());
    for (const auto& [from, to] : {std::pair(k, w_.k), std::pair(v, w_.v)}) {
      a_.steps.copy(rows_of(from, keys, loaded), to);
      std::memset(to + loaded * line_, 0, static_cast<size_t>((rows - loaded) * line_));
    }
    a_.tensors.pack_b(columns_job(k, keys, loaded), w_.k_columns);
  }

  // s and dp of a micro-tile's rows of keys, from `row` of the block on, with a block of queries.
  GradientRows scores(int64_t keys, int64_t row, int64_t queries) const {
    // On the diagonal earlier queries do not see these keys.
    const int64_t begin = queries == keys ? row / a_.columns() * a_.columns() : 0;
    const int64_t end = count(queries), offset = row * sizes_.block * a_.block_bytes();
    const auto multiply = [&](const char* lines, const uint32_t* panels, float* to) {
      a_.multiply_lines(sizes_.units, lines + row * line_, line_,
                        panels + (queries + begin) * sizes_.units, sizes_.units, to + begin,
                        sizes_.block, end - begin, false);
    };
    multiply(w_.k, w_.q_rows, w_.s);
    multiply(w_.v, w_.dy_rows, w_.dp);
    return {.rows = a_.rows(),
            .begin = begin,
            .end = end,
            .first_valid = keys + row - queries,
            .scale = shape_.scale,
            .scores = w_.s,
            .dp = w_.dp,
            .scores_ld = sizes_.block,
            .lse = w_.lse + queries,
            .delta = w_.delta + queries,
            .p = w_.p + offset,
            .ds = w_.ds + offset,
            .blocks_ld = sizes_.block};
  }

  // p and ds of two blocks, and what they add to dk and dv.
  void key_gradients(int64_t keys, int64_t queries, bool first) const {
    for (int64_t row = 0; row < count(keys); row += a_.rows()) {
      const GradientRows job = scores(keys, row, queries);
      a_.steps.gradient(job);
      const int64_t skipped = a_.units(job.begin), units = a_.units(job.end);
      const auto sums = [&](const void* lines, const uint32_t* panels, float* to) {
        a_.multiply_lines(
            units - skipped, static_cast<const char*>(lines) + job.begin * a_.block_bytes(),
            sizes_.block * a_.block_bytes(), panels + begin_units(queries) + skipped * a_.columns(),
            units, to + (keys + row) * sizes_.columns, sizes_.columns, shape_.head_dim, !first);
      };
      sums(job.p, w_.dy_columns, w_.dv);
      sums(job.ds, w_.q_columns, w_.dk);
    }
  }

  // What ds adds to dq.
  void query_gradients(int64_t keys, int64_t queries) const {
    const int64_t depth = count(keys), units = a_.units(depth);
    const TensorView ds{w_.ds,        a_.block_type,  sizes_.block,    depth,
                        sizes_.block, Major::kColumn, a_.block_bytes()};
    a_.blocks.pack_a({ds, 0, count(queries), 0, depth}, w_.ds_panels);
    for (int64_t row = 0; row < count(queries); row += a_.rows()) {
      const int64_t seen = queries == keys ? std::min(depth, row + a_.rows()) : depth;
      for (int64_t column = 0; column < shape_.head_dim; column += a_.columns()) {
        a_.blocks.multiply(
            a_.units(seen), w_.ds_panels + row * units, 0, w_.k_columns + column * units,
            w_.dq + (queries + row) * sizes_.columns + column, sizes_.columns, keys > 0);
      }
    }
  }

  void store(const float* sums, float factor, const TensorView& to, int64_t head) const {
    a_.steps.store_product(sums, sizes_.columns, factor, head_of(to, head));
  }

  const Arithmetic& a_;
  const Shape& shape_;
  const Backward& t_;
  const Sizes& sizes_;
  const Scratch& w_;
  int64_t sequence_, kv_head_;
  int64_t line_;  // bytes
};

}  // namespace

int64_t backward_bytes(const Arithmetic& a, const Shape& shape, int threads) {
  return threads * scratch_bytes(a, shape, Sizes(a, shape));
}

void run_backward(const Arithmetic& a, const Shape& shape, const Backward& tensors, int threads,
                  void* workspace) {
  const Sizes sizes(a, shape);
#pragma omp parallel num_threads(threads)
  {
    Carver carver(workspace);
    carver.take<char>(omp_get_thread_num() * scratch_bytes(a, shape, sizes));
    const Scratch scratch(a, shape, sizes, carver);
#pragma omp for schedule(dynamic, 1) collapse(2)
    for (int64_t sequence = 0; sequence < shape.batch; ++sequence) {
      for (int64_t head = 0; head < shape.kv_heads; ++head) {
        BackwardRun(a, shape, tensors, sizes, scratch, sequence, head).run();
      }
    }
  }
}

}  // namespace coda::attention
