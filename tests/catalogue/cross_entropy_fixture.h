// A small problem of cross-entropy whose parts a test may change.
#pragma once
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "coda/catalogue/cross_entropy.h"

namespace coda::catalogue {

// A small problem in fp32 with room for all results.
struct CrossEntropyFixture {
  CrossEntropyFixture(int64_t M, int64_t V, int64_t h)
      : M(M), V(V), h(h), x(fill(M * h)), weight(fill(V * h)), target(static_cast<size_t>(M), 0) {
    memory.resize(1 << 22);
    void* data = memory.data();
    size_t space = memory.size();
    workspace = {std::align(256, memory.size() - 256, data, space), 0};
    workspace.bytes = static_cast<int64_t>(space);
    problem.x = {x.data(), M, h};
    problem.weight = {weight.data(), V, h};
    problem.target = target.data();
    outputs = {loss.data(), lse.data(), nullptr};
    gradients.dweight = {dweight.data(), V, h};
    gradients.dx = {dx.data(), M, h};
    gradients.dx_sum = {dx_sum.data(), M, h};
    kept = {logits.data(), M, V};
  }
  static std::vector<float> fill(int64_t count) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> result(static_cast<size_t>(count));
    for (float& v : result) v = normal(random);
    return result;
  }
  std::vector<float> nans(int64_t count) const {
    return std::vector<float>(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
  }

  void forward() { cross_entropy({}, problem, outputs, kept, workspace); }
  void with_gradients(int64_t chunk = 2) {
    cross_entropy_with_gradients({}, problem, outputs, gradients, chunk, workspace);
  }
  void backward() {
    cross_entropy_backward({}, problem, lse.data(), Matrix<const float>(kept), kept, gradients,
                           workspace);
  }
  void recompute(int64_t chunk = 128) {
    cross_entropy_recompute({}, problem, lse.data(), gradients, chunk, workspace);
  }

  int64_t M, V, h;
  std::vector<float> x, weight;
  std::vector<int64_t> target;
  std::vector<float> loss = nans(M + 1), lse = nans(M), dweight = nans(V * h), dx = nans(M * h),
                     dx_sum = nans(M * h), logits = nans(M * V), dots = nans(M * ((V + 127) / 128));
  std::vector<std::byte> memory;
  CrossEntropyWorkspace workspace;
  CrossEntropy<float> problem;
  CrossEntropyLoss outputs;
  CrossEntropyGradients<float> gradients;
  Matrix<float> kept;
};

}  // namespace coda::catalogue
