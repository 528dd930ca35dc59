// A model learns a sentence by heart: forward, backward and AdamW, every operation but attention a
// fused program.
#include <coda/block/model.h>
#include <coda/train/initial_weights.h>
#include <coda/train/presets.h>

#include <cstdio>
#include <string_view>
#include <vector>

int main() {
  constexpr std::string_view kText =
      "Every GEMM of a block writes what the next one reads, and no more.";
  const std::vector<int64_t> tokens(kText.begin(), kText.end() - 1),
      targets(kText.begin() + 1, kText.end());

  const auto device = coda::block::make_device("cpu");  // or "cuda"
  coda::block::ModelOptions options;
  options.sequence = static_cast<int64_t>(tokens.size());
  coda::block::Model model(coda::train::preset("tiny"), options,
                           *device);           // takes all memory, once
  coda::train::set_initial_weights(model, 1);  // or read_weights(model, "path/to/checkpoint")

  for (int64_t step = 1; step <= 60; ++step) {
    model.forward_backward(0, tokens, targets);
    model.update(2e-3, step);
    if (step % 20 == 0) std::printf("step %2d, loss %.3f\n", static_cast<int>(step), model.loss());
  }
  return model.loss() < 0.1f ? 0 : 1;
}
