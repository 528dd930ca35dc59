#include "coda/block/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace coda::block {
namespace {

constexpr int64_t kAlignment = 256;  // what the GPU's workspaces ask for

// Address of byte b of tensor i before there is memory: i above, b below. Bit 62 is in no address
// of user space.
constexpr uint64_t kMark = uint64_t{1} << 62;
constexpr int kShift = 42;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool is_declared(const void* data) { return (reinterpret_cast<uintptr_t>(data) & kMark) != 0; }
size_t index_of(const void* data) { return (reinterpret_cast<uintptr_t>(data) & ~kMark) >> kShift; }

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

const char* use_name(Use use) {
  switch (use) {
    case Use::kWeights: return "weights";
    case Use::kFolded: return "weights with a norm's folded in";
    case Use::kMaster: return "fp32 weights";
    case Use::kMoments: return "moments";
    case Use::kGradients: return "gradients";
    case Use::kInputs: return "inputs";
    case Use::kActivation: return "activations";
    case Use::kWorkspace: return "workspace";
  }
  return "unknown";
}

TensorView MemoryPlan::declare(std::string name, Use use, DType type, int64_t rows,
                               int64_t columns) {
  const int64_t bytes = rows * columns * dtype_bytes(type);
  if (bytes >> kShift != 0) {
    throw Error(fmt::format("{}: expected less than 4 TiB, got {} bytes", name, bytes));
  }
  const uint64_t address = kMark | static_cast<uint64_t>(tensors_.size()) << kShift;
  tensors_.push_back({std::move(name), use, bytes, 0, {}});
  return {reinterpret_cast<const void*>(address),
          type,
          rows,
          columns,
          columns,
          Major::kRow,
          dtype_bytes(type)};
}

void MemoryPlan::add(Nodes& nodes) {
  for (size_t at = 0; at < nodes.size(); ++at) {
    for_each_view(nodes[at], [&](TensorView& view) {
      if (!is_declared(view.data)) return;
      Tensor& tensor = tensors_[index_of(view.data)];
      const auto now = static_cast<int64_t>(at);
      if (!tensor.lives.empty() && tensor.lives.back().list == lists_) {
        tensor.lives.back().last = now;
      } else {
        tensor.lives.push_back({lists_, now, now});
      }
    });
  }
  ++lists_;
}

bool MemoryPlan::meet(const Tensor& a, const Tensor& b) {
  for (const Life& x : a.lives) {
    for (const Life& y : b.lives) {
      if (x.list == y.list && x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

void MemoryPlan::place() {
  stays_ = activations_ = 0;
  std::vector<Tensor*> lively;
  for (Tensor& tensor : tensors_) {
    if (tensor.use == Use::kActivation) {
      lively.push_back(&tensor);
    } else {
      tensor.offset = stays_;
      stays_ += aligned(tensor.bytes);
    }
  }
  // The largest first, each at the lowest place that is free all its life.
  std::stable_sort(lively.begin(), lively.end(),
                   [](const Tensor* a, const Tensor* b) { return a->bytes > b->bytes; });
  std::vector<const Tensor*> placed;  // by offset
  for (Tensor* tensor : lively) {
    int64_t at = 0;
    for (const Tensor* other : placed) {
      if (!meet(*tensor, *other)) continue;
      if (at + aligned(tensor->bytes) <= other->offset) break;
      at = std::max(at, other->offset + aligned(other->bytes));
    }
    tensor->offset = at;
    activations_ = std::max(activations_, at + aligned(tensor->bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), tensor,
                         [](const Tensor* a, const Tensor* b) { return a->offset < b->offset; }),
        tensor);
  }
  for (Tensor* tensor : lively) tensor->offset += stays_;
}

int64_t MemoryPlan::bytes() const { return stays_ + activations_; }

int64_t MemoryPlan::bytes(Use use) const {
  if (use == Use::kActivation) return activations_;
  return std::accumulate(tensors_.begin(), tensors_.end(), int64_t{0},
                         [&](int64_t sum, const Tensor& tensor) {
                           return sum + (tensor.use == use ? aligned(tensor.bytes) : 0);
                         });
}

std::string MemoryPlan::describe() const {
  std::string text;
  for (const Tensor& tensor : tensors_) {
    text += fmt::format("{:>12}  at {:>12}  {:<12}  {}", mebibytes(tensor.bytes), tensor.offset,
                        use_name(tensor.use), tensor.name);
    if (tensor.use == Use::kActivation) {
      for (const Life& life : tensor.lives) {
        text += fmt::format("  [list {}: {} to {}]", life.list, life.first, life.last);
      }
    }
    text += '\n';
  }
  return text;
}

std::string MemoryPlan::summary() const {
  std::string text;
  for (const Use use : kUses) {
    if (bytes(use) == 0) continue;
    text += fmt::format("{:>14}  {}\n", mebibytes(bytes(use)), use_name(use));
  }
  return text + fmt::format("{:>14}  in all\n", mebibytes(bytes()));
}

TensorView MemoryPlan::real(TensorView view, void* base) const {
  if (!is_declared(view.data)) return view;
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  const int64_t within = static_cast<int64_t>(address & ((uint64_t{1} << kShift) - 1));
  view.data = static_cast<char*>(base) + tensors_[index_of(view.data)].offset + within;
  return view;
}

void MemoryPlan::make_real(Nodes& nodes, void* base) const {
  for (Node& node : nodes) {
    for_each_view(node, [&](TensorView& view) { view = real(view, base); });
  }
}

}  // namespace coda::block
