#include "coda/train/profile.h"

namespace coda::train {

Profile::Profile(block::Model& model) : model_(model) { start(); }

Profile::~Profile() { stop(); }

void Profile::start() {
  model_.before_node = [this](const block::Node&) { begin_ = Clock::now(); };
  model_.after_node = [this](const block::Node& node) {
    model_.device().wait();
    Sum& sum = sums_[node.label];
    ++sum.calls;
    sum.seconds += std::chrono::duration<double>(Clock::now() - begin_).count();
  };
}

void Profile::stop() {
  model_.before_node = nullptr;
  model_.after_node = nullptr;
}

std::vector<OperationTime> Profile::times() const {
  std::vector<OperationTime> result;
  for (const auto& [label, sum] : sums_) result.push_back({label, sum.calls, sum.seconds});
  return result;
}

}  // namespace coda::train
