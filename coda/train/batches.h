// Which windows of the corpus a step trains on: every window of an epoch once, in an order drawn
// from the seed and the epoch, which also shifts where windows begin. A batch is a pure function of
// (seed, step, part), so a resumed run needs nothing but the number of its step.
#pragma once
#include <cstdint>
#include <span>

#include "coda/train/corpus.h"

namespace coda::train {

// Where a permutation of [0, size) takes `index`; another permutation for every key. Constant
// memory and expected constant time: a Feistel network over the next even number of bits, applied
// until the result is below size.
int64_t permuted(uint64_t key, int64_t size, int64_t index);

struct BatchOptions {
  int64_t batch = 1;  // B: sequences in a part
  int64_t parts = 1;  // micro-batches in a step
  uint64_t seed = 0;
};

constexpr int64_t kIgnoredTarget = -100;  // has no loss; the default of catalogue's ignore_index

class Batches {
 public:
  Batches(const Corpus& corpus, const BatchOptions& options);  // the corpus outlives this

  // Windows of an epoch; steps need not end where an epoch does.
  int64_t epoch_windows() const { return epoch_windows_; }
  // The corpus position at which a window begins that is the index-th of all that are trained on.
  int64_t window_start(int64_t index) const;

  // step from 0, part in [0, parts). tokens and targets: [B, T] each, targets the next tokens.
  void fill(int64_t step, int64_t part, std::span<int64_t> tokens,
            std::span<int64_t> targets) const;

  // Held-out text in order, no token predicted twice.
  int64_t held_out_batches() const;
  // Returns how many targets count; sequences beyond the text have tokens 0 and ignored targets.
  int64_t fill_held_out(int64_t batch, std::span<int64_t> tokens, std::span<int64_t> targets) const;

 private:
  void fill_sequence(int64_t start, int64_t sequence, std::span<int64_t> tokens,
                     std::span<int64_t> targets) const;

  const Corpus* corpus_;
  BatchOptions options_;
  int64_t epoch_windows_ = 0;
  int64_t shifts_ = 1;  // windows of an epoch begin at shift + i·T, shift in [0, shifts)
};

}  // namespace coda::train
