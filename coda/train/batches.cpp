#include "coda/train/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "coda/core/error.h"
#include "coda/core/random.h"

namespace coda::train {
namespace {

// What the numbers that a seed gives are for, so that none is used twice.
enum class Purpose : uint64_t { kOrder, kShift };

uint64_t epoch_key(uint64_t seed, int64_t epoch, Purpose purpose) {
  return mix(mix(seed, static_cast<uint64_t>(epoch)), static_cast<uint64_t>(purpose));
}

void check_size(const char* argument, std::span<int64_t> values, int64_t expected) {
  if (static_cast<int64_t>(values.size()) == expected) return;
  fail_argument("batch", argument, fmt::format("{} values, batch times sequence", expected),
                fmt::format("{}", values.size()));
}

}  // namespace

int64_t permuted(uint64_t key, int64_t size, int64_t index) {
  if (index < 0 || index >= size) {
    fail_argument("permuted", "index", fmt::format("0 to {}", size - 1), fmt::format("{}", index));
  }
  // Two halves of equally many bits; at most 4 times as many numbers as needed, so walking on from
  // one that is too large takes at most 4 rounds on average.
  const int half = (std::bit_width(static_cast<uint64_t>(size - 1)) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  // Over 160,000 keys, the distance of two neighbours' images among 16 numbers shows a bias with 6
  // and with 8 rounds, and none with 12.
  constexpr uint64_t kRounds = 12;
  auto x = static_cast<uint64_t>(index);
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t next = left ^ (mix(mix(key, round), right) & mask);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= static_cast<uint64_t>(size));
  return static_cast<int64_t>(x);
}

Batches::Batches(const Corpus& corpus, const BatchOptions& options)
    : corpus_(&corpus), options_(options) {
  if (options.batch < 1) {
    fail_argument("batch", "batch", "at least 1 sequence", fmt::format("{}", options.batch));
  }
  if (options.parts < 1) {
    fail_argument("batch", "parts", "at least 1", fmt::format("{}", options.parts));
  }
  // One window less than there is room for, so that all of them can be shifted by up to T − 1.
  const int64_t sequence = corpus.sequence(), tokens = corpus.training_tokens();
  epoch_windows_ = std::max<int64_t>((tokens - sequence) / sequence, 1);
  shifts_ = std::min(sequence, tokens - epoch_windows_ * sequence);
}

int64_t Batches::window_start(int64_t index) const {
  const int64_t epoch = index / epoch_windows_;
  const int64_t window = permuted(epoch_key(options_.seed, epoch, Purpose::kOrder), epoch_windows_,
                                  index % epoch_windows_);
  const uint64_t shift = epoch_key(options_.seed, epoch, Purpose::kShift);
  return window * corpus_->sequence() +
         static_cast<int64_t>(shift % static_cast<uint64_t>(shifts_));
}

void Batches::fill(int64_t step, int64_t part, std::span<int64_t> tokens,
                   std::span<int64_t> targets) const {
  const auto [batch, parts, seed] = options_;
  check_size("tokens", tokens, batch * corpus_->sequence());
  check_size("targets", targets, batch * corpus_->sequence());
  if (step < 0 || part < 0 || part >= parts) {
    fail_argument("batch", "part", fmt::format("a step from 0 and a part below {}", parts),
                  fmt::format("step {}, part {}", step, part));
  }
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    fill_sequence(window_start((step * parts + part) * batch + sequence), sequence, tokens,
                  targets);
  }
}

int64_t Batches::held_out_batches() const {
  const int64_t windows = (corpus_->held_out_tokens() - 1) / corpus_->sequence();
  return (windows + options_.batch - 1) / options_.batch;
}

int64_t Batches::fill_held_out(int64_t batch, std::span<int64_t> tokens,
                               std::span<int64_t> targets) const {
  const int64_t sequence = corpus_->sequence();
  check_size("tokens", tokens, options_.batch * sequence);
  check_size("targets", targets, options_.batch * sequence);
  if (batch < 0 || batch >= held_out_batches()) {
    fail_argument("batch", "batch", fmt::format("0 to {}", held_out_batches() - 1),
                  fmt::format("{}", batch));
  }
  const int64_t windows = (corpus_->held_out_tokens() - 1) / sequence;
  const int64_t first = batch * options_.batch;
  const int64_t count = std::min(options_.batch, windows - first);
  for (int64_t i = 0; i < count; ++i) {
    fill_sequence(corpus_->training_tokens() + (first + i) * sequence, i, tokens, targets);
  }
  std::ranges::fill(tokens.subspan(static_cast<size_t>(count * sequence)), 0);
  std::ranges::fill(targets.subspan(static_cast<size_t>(count * sequence)), kIgnoredTarget);
  return count * sequence;
}

void Batches::fill_sequence(int64_t start, int64_t sequence, std::span<int64_t> tokens,
                            std::span<int64_t> targets) const {
  const auto length = static_cast<size_t>(corpus_->sequence());
  const size_t at = static_cast<size_t>(sequence) * length;
  corpus_->read(start, tokens.subspan(at, length));
  corpus_->read(start + 1, targets.subspan(at, length));
}

}  // namespace coda::train
