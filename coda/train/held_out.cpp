#include "coda/train/held_out.h"

#include <algorithm>

namespace coda::train {

HeldOutLoss held_out_loss(block::Model& model, const Batches& batches, int64_t at_most,
                          const std::function<void(int64_t)>& shown) {
  std::vector<int64_t> tokens(static_cast<size_t>(model.sizes().tokens()));
  std::vector<int64_t> targets(tokens.size());
  HeldOutLoss result;
  double sum = 0;
  const int64_t count = std::min(batches.held_out_batches(), at_most);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t counted = batches.fill_held_out(i, tokens, targets);
    model.forward(tokens, targets);
    sum += static_cast<double>(model.loss()) * static_cast<double>(counted);
    result.tokens += counted;
    if (shown) shown(i + 1);
  }
  result.mean = sum / static_cast<double>(result.tokens);
  return result;
}

}  // namespace coda::train
