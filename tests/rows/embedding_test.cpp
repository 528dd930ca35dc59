// What random cases do not say of the embedding operations: the order of additions, that rows of no
// token are left alone, and that forward and backward are each other's transpose.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "coda/core/random.h"
#include "coda/rows/embedding_backward.h"
#include "coda/rows/embedding_norm.h"

namespace coda {
namespace {

template <class T>
TensorView view(std::vector<T>& data, int64_t rows) {
  return erase(Matrix<T>(data.data(), rows, static_cast<int64_t>(data.size()) / rows));
}

TEST(EmbeddingBackward, AddsInTheOrderOfTheRows) {
  std::vector<float> dx{1e8f, 1, -1e8f, 1}, out{0, 0};  // 1 only in this order
  std::vector<int32_t> tokens{1, 1, 1, 1};
  for (const int threads : {1, 2, 7}) {
    cpu::embedding_backward({view(dx, 4), view(tokens, 1), view(out, 2)}, threads);
    EXPECT_EQ(out, (std::vector<float>{0, 1}));
  }
}

TEST(EmbeddingBackward, LeavesOtherRowsAloneWhereItAdds) {
  std::vector<float> dx{1, 2, 3, 4}, out{10, 20, 30, 40, 50, 60};
  std::vector<int32_t> tokens{2, 0};
  row::EmbeddingBackwardArguments a{view(dx, 2), view(tokens, 1), view(out, 3), true};
  cpu::embedding_backward(a);
  EXPECT_EQ(out, (std::vector<float>{13, 24, 30, 40, 51, 62}));
  a.accumulate = false;
  cpu::embedding_backward(a);
  EXPECT_EQ(out, (std::vector<float>{3, 4, 0, 0, 1, 2}));
}

TEST(EmbeddingBackward, AllTokensAlike) {
  constexpr int64_t kTokens = 5000, kColumns = 700;
  std::vector<float> dx(kTokens * kColumns, 1), out(3 * kColumns, -1);
  std::vector<int64_t> tokens(kTokens, 1);
  cpu::embedding_backward({view(dx, kTokens), view(tokens, 1), view(out, 3)}, 2);
  for (int64_t j = 0; j < kColumns; ++j) {
    EXPECT_EQ(out[static_cast<size_t>(j)], 0);
    EXPECT_EQ(out[static_cast<size_t>(kColumns + j)], kTokens);
  }
}

// ⟨E[tokens], dx⟩ = ⟨E, dE⟩, of integers.
TEST(Embedding, BackwardIsTheTransposeOfForward) {
  constexpr int64_t kTokens = 130, kVocabulary = 40, kColumns = 72;
  Random random(3);
  const auto draw = [&](int64_t count) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& value : result) value = static_cast<float>(random.between(-9, 9));
    return result;
  };
  std::vector<float> table = draw(kVocabulary * kColumns), dx = draw(kTokens * kColumns);
  std::vector<float> x(dx.size()), squares(2 * kTokens), gradient(table.size());
  std::vector<int64_t> tokens(kTokens);
  for (int64_t& token : tokens) token = random.between(0, kVocabulary - 1);
  cpu::embedding_norm(
      {view(table, kVocabulary), view(tokens, 1), view(x, kTokens), view(squares, 2)});
  cpu::embedding_backward({view(dx, kTokens), view(tokens, 1), view(gradient, kVocabulary)});
  EXPECT_EQ(std::inner_product(x.begin(), x.end(), dx.begin(), 0.0),
            std::inner_product(table.begin(), table.end(), gradient.begin(), 0.0));
}

}  // namespace
}  // namespace coda
