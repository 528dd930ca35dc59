// The order of windows: every one once an epoch, another for every seed, a pure function.
#include "coda/train/batches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"

namespace coda::train {
namespace {

using Tokens = std::vector<int64_t>;

// Token i of the corpus is i.
Corpus counting_corpus(const TemporaryFolder& folder, int64_t size, int64_t sequence,
                       double held_out_share = 0.05) {
  std::vector<uint32_t> tokens(static_cast<size_t>(size));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint32_t>(i);
  const std::filesystem::path file = folder.write(
      "count.u32.bin", {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 4});
  return Corpus({file},
                {.sequence = sequence, .vocab_size = size, .held_out_share = held_out_share});
}

Tokens first_tokens(const Batches& batches, int64_t count) {
  Tokens starts;
  for (int64_t i = 0; i < count; ++i) starts.push_back(batches.window_start(i));
  return starts;
}

RC_GTEST_PROP(Permuted, IsAPermutation, (uint64_t key)) {
  const auto size = *rc::gen::inRange<int64_t>(1, 3000);
  std::vector<bool> reached(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    const int64_t to = permuted(key, size, i);
    RC_ASSERT(to >= 0 && to < size && !reached[static_cast<size_t>(to)]);
    reached[static_cast<size_t>(to)] = true;
  }
}

RC_GTEST_PROP(Permuted, ReachesFar, (uint64_t key)) {
  const int64_t size = (int64_t{1} << 62) - *rc::gen::inRange<int64_t>(0, 1000);
  const int64_t index = *rc::gen::inRange<int64_t>(0, size);
  const int64_t to = permuted(key, size, index);
  RC_ASSERT(to >= 0 && to < size);
}

TEST(Permuted, RefusesAnIndexBeyond) {
  EXPECT_THROW(permuted(1, 5, 5), Error);
  EXPECT_THROW(permuted(1, 5, -1), Error);
  EXPECT_THROW(permuted(1, 0, 0), Error);
}

// Chi-squared over where index 0 goes, and over the distance to where index 1 goes: 15 degrees of
// freedom, 37.7 is exceeded by chance once in a thousand. Keys are fixed, so there is no chance.
TEST(Permuted, TreatsPlacesAlike) {
  constexpr int64_t kSize = 16, kKeys = 160000;
  std::vector<double> place(kSize), distance(kSize);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const int64_t first = permuted(key, kSize, 0), second = permuted(key, kSize, 1);
    ++place[static_cast<size_t>(first)];
    ++distance[static_cast<size_t>((second - first + kSize) % kSize)];
  }
  const auto chi_squared = [](const std::vector<double>& counts, double expected, size_t from) {
    double sum = 0;
    for (size_t i = from; i < counts.size(); ++i) {
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
  };
  EXPECT_LT(chi_squared(place, double{kKeys} / kSize, 0), 37.7);
  EXPECT_EQ(distance[0], 0);
  EXPECT_LT(chi_squared(distance, double{kKeys} / (kSize - 1), 1), 36.1);  // 14 degrees
}

RC_GTEST_PROP(Batches, TakeEveryWindowOnceAnEpoch, (uint64_t seed)) {
  const TemporaryFolder folder;
  const auto sequence = *rc::gen::inRange<int64_t>(1, 20);
  const auto size = *rc::gen::inRange<int64_t>(2 * sequence + 2, 1500);
  const Corpus corpus = counting_corpus(folder, size, sequence);
  const Batches batches(corpus, {.seed = seed});
  const int64_t windows = batches.epoch_windows();
  RC_ASSERT(windows >= 1);
  // All but the tokens of at most two windows.
  RC_ASSERT((windows + 2) * sequence >= corpus.training_tokens());
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    Tokens starts;
    for (int64_t i = 0; i < windows; ++i) {
      starts.push_back(batches.window_start(epoch * windows + i));
    }
    std::ranges::sort(starts);
    RC_ASSERT(starts.front() >= 0 && starts.front() < sequence);
    for (size_t i = 1; i < starts.size(); ++i) RC_ASSERT(starts[i] - starts[i - 1] == sequence);
    RC_ASSERT(starts.back() + sequence + 1 <= corpus.training_tokens());
  }
}

RC_GTEST_PROP(Batches, AreWindowsAndTheirNextTokens, (uint64_t seed)) {
  const TemporaryFolder folder;
  const auto sequence = *rc::gen::inRange<int64_t>(1, 20);
  const auto batch = *rc::gen::inRange<int64_t>(1, 6), parts = *rc::gen::inRange<int64_t>(1, 4);
  const Corpus corpus = counting_corpus(folder, 500, sequence);
  const Batches batches(corpus, {.batch = batch, .parts = parts, .seed = seed});
  Tokens tokens(static_cast<size_t>(batch * sequence)), targets = tokens;
  // Any order of asking gives the same.
  for (const int64_t step : {17, 0, 3, 17}) {
    for (int64_t part = parts - 1; part >= 0; --part) {
      batches.fill(step, part, tokens, targets);
      for (int64_t i = 0; i < batch * sequence; ++i) {
        const int64_t index = (step * parts + part) * batch + i / sequence;
        const int64_t expected = batches.window_start(index) + i % sequence;
        RC_ASSERT(tokens[static_cast<size_t>(i)] == expected);
        RC_ASSERT(targets[static_cast<size_t>(i)] == expected + 1);
      }
    }
  }
}

TEST(Batches, DependOnSeedAndEpochAlone) {
  const TemporaryFolder folder;
  const Corpus corpus = counting_corpus(folder, 5000, 10);
  const Batches batches(corpus, {.seed = 1}), again(corpus, {.seed = 1}),
      other(corpus, {.seed = 2});
  const int64_t windows = batches.epoch_windows();
  const Tokens epochs = first_tokens(batches, 2 * windows);
  EXPECT_EQ(epochs, first_tokens(again, 2 * windows));
  EXPECT_NE(epochs, first_tokens(other, 2 * windows));
  EXPECT_FALSE(std::ranges::is_sorted(epochs.begin(), epochs.begin() + windows));
  EXPECT_FALSE(std::equal(epochs.begin(), epochs.begin() + windows, epochs.begin() + windows));
  // The same sequences however they are cut into batches and parts.
  const Batches cut(corpus, {.batch = 2, .parts = 3, .seed = 1});
  EXPECT_EQ(epochs, first_tokens(cut, 2 * windows));
}

TEST(Batches, ShiftTheWindowsOverTime) {
  const TemporaryFolder folder;
  const Corpus corpus = counting_corpus(folder, 200, 8);
  const Batches batches(corpus, {.seed = 5});
  std::set<int64_t> shifts;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    shifts.insert(batches.window_start(epoch * batches.epoch_windows()) % 8);
  }
  EXPECT_EQ(shifts.size(), 8u);
}

RC_GTEST_PROP(Batches, TakeHeldOutTextInOrder, ()) {
  const TemporaryFolder folder;
  const auto sequence = *rc::gen::inRange<int64_t>(1, 20), batch = *rc::gen::inRange<int64_t>(1, 6);
  const auto size = *rc::gen::inRange<int64_t>(2 * sequence + 2, 600);
  const double share = *rc::gen::inRange(0, 100) / 100.0;
  const Corpus corpus = counting_corpus(folder, size, sequence, share);
  const Batches batches(corpus, {.batch = batch});
  Tokens tokens(static_cast<size_t>(batch * sequence)), targets = tokens;
  int64_t next = corpus.training_tokens();
  for (int64_t i = 0; i < batches.held_out_batches(); ++i) {
    const int64_t count = batches.fill_held_out(i, tokens, targets);
    RC_ASSERT(count > 0);
    RC_ASSERT(count == batch * sequence || i + 1 == batches.held_out_batches());
    for (int64_t j = 0; j < batch * sequence; ++j) {
      RC_ASSERT(tokens[static_cast<size_t>(j)] == (j < count ? next + j : 0));
      RC_ASSERT(targets[static_cast<size_t>(j)] == (j < count ? next + j + 1 : kIgnoredTarget));
    }
    next += count;
  }
  RC_ASSERT(next < size && next + sequence >= size);  // less than a window is left over
}

TEST(Batches, RefuseBadArguments) {
  const TemporaryFolder folder;
  const Corpus corpus = counting_corpus(folder, 100, 5);
  EXPECT_THROW(Batches(corpus, {.batch = 0}), Error);
  EXPECT_THROW(Batches(corpus, {.parts = 0}), Error);
  const Batches batches(corpus, {.batch = 2, .parts = 2});
  Tokens tokens(10), targets(10), small(9);
  EXPECT_THROW(batches.fill(0, 2, tokens, targets), Error);
  EXPECT_THROW(batches.fill(0, -1, tokens, targets), Error);
  EXPECT_THROW(batches.fill(-1, 0, tokens, targets), Error);
  EXPECT_THROW(batches.fill(0, 0, small, targets), Error);
  EXPECT_THROW(batches.fill(0, 0, tokens, small), Error);
  EXPECT_THROW(batches.fill_held_out(batches.held_out_batches(), tokens, targets), Error);
  EXPECT_THROW(batches.fill_held_out(0, small, targets), Error);
  batches.fill(0, 0, tokens, targets);
}

}  // namespace
}  // namespace coda::train
