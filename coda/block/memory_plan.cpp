#include "coda/block/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
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
  }
  return "unknown";
}

TensorView MemoryPlan::declare(std::string name, Use use, DType type, int64_t rows,
                               int64_t columns) {
  constexpr int64_t kMostBytes = (int64_t{1} << kShift) - 1;
  const int64_t element = dtype_bytes(type);
  if (columns > 0 && rows > kMostBytes / element / columns) {
    throw Error(fmt::format("{}: expected less than 4 TiB, got {} by {} of {} bytes", name, rows,
                            columns, element));
  }
  if (tensors_.size() >= kMark >> kShift) {
    throw Error(fmt::format("{}: expected at most {} tensors; lower the layers or the parts", name,
                            kMark >> kShift));
  }
  const int64_t bytes = rows * columns * element;
  const uint64_t address = kMark | static_cast<uint64_t>(tensors_.size()) << kShift;
  tensors_.push_back({std::move(name), use, bytes});
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
      if (tensor.use != Use::kActivation) return;
      if (tensor.list < 0) {
        tensor.list = lists_;
        tensor.first = static_cast<int64_t>(at);
      } else if (tensor.list != lists_) {
        throw Error(fmt::format("{}: expected an activation of one list, got two", tensor.name));
      }
      tensor.last = static_cast<int64_t>(at);
    });
  }
  ++lists_;
}

bool MemoryPlan::meet(const Tensor& a, const Tensor& b) {
  return a.list == b.list && a.first <= b.last && b.first <= a.last;
}

void MemoryPlan::place() {
  stays_ = activations_ = 0;
  std::vector<std::vector<Tensor*>> by_list(static_cast<size_t>(lists_));
  for (Tensor& tensor : tensors_) {
    if (tensor.use != Use::kActivation) {
      tensor.offset = stays_;
      stays_ += aligned(tensor.bytes);
    } else if (tensor.list >= 0) {
      by_list[static_cast<size_t>(tensor.list)].push_back(&tensor);
    }
  }
  for (const std::vector<Tensor*>& list : by_list) {
    activations_ = std::max(activations_, place_list(list));
    for (Tensor* tensor : list) tensor->offset += stays_;
  }
}

// In the order, of some, in which the least memory goes to waste: of models next to nothing.
int64_t MemoryPlan::place_list(std::vector<Tensor*> tensors) {
  const auto life = [](const Tensor* tensor) { return tensor->last - tensor->first; };
  const auto larger = [](const Tensor* a, const Tensor* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;  // all in one vector
  };
  const auto longer = [&](const Tensor* a, const Tensor* b) {
    return life(a) != life(b) ? life(a) > life(b) : larger(a, b);
  };
  const auto wider = [&](const Tensor* a, const Tensor* b) {
    const double area_a = static_cast<double>(a->bytes) * static_cast<double>(life(a) + 1);
    const double area_b = static_cast<double>(b->bytes) * static_cast<double>(life(b) + 1);
    return area_a != area_b ? area_a > area_b : larger(a, b);
  };
  const auto earlier = [&](const Tensor* a, const Tensor* b) {
    return a->first != b->first ? a->first < b->first : longer(a, b);
  };
  const std::function<bool(const Tensor*, const Tensor*)> orders[] = {larger, longer, wider,
                                                                      earlier};
  int64_t least = std::numeric_limits<int64_t>::max();
  std::vector<Tensor*> best;
  for (const auto& order : orders) {
    std::ranges::sort(tensors, order);
    const int64_t end = place_in_order(tensors);
    if (end >= least) continue;
    least = end;
    best = tensors;
  }
  return place_in_order(best);
}

// Each at the lowest place that is free all its life.
int64_t MemoryPlan::place_in_order(const std::vector<Tensor*>& tensors) {
  int64_t end = 0;
  std::vector<const Tensor*> placed;  // by offset
  for (Tensor* tensor : tensors) {
    int64_t at = 0;
    for (const Tensor* other : placed) {
      if (!meet(*tensor, *other)) continue;
      if (at + aligned(tensor->bytes) <= other->offset) break;
      at = std::max(at, other->offset + aligned(other->bytes));
    }
    tensor->offset = at;
    end = std::max(end, at + aligned(tensor->bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), tensor,
                         [](const Tensor* a, const Tensor* b) { return a->offset < b->offset; }),
        tensor);
  }
  return end;
}

int64_t MemoryPlan::live_bytes() const {
  std::vector<std::vector<int64_t>> changes(static_cast<size_t>(lists_));  // from node to node
  for (const Tensor& tensor : tensors_) {
    if (tensor.list < 0) continue;
    std::vector<int64_t>& list = changes[static_cast<size_t>(tensor.list)];
    list.resize(std::max(list.size(), static_cast<size_t>(tensor.last) + 2));
    list[static_cast<size_t>(tensor.first)] += aligned(tensor.bytes);
    list[static_cast<size_t>(tensor.last) + 1] -= aligned(tensor.bytes);
  }
  int64_t most = 0;
  for (const std::vector<int64_t>& list : changes) {
    int64_t live = 0;
    for (const int64_t change : list) most = std::max(most, live += change);
  }
  return most;
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
    if (tensor.list >= 0) {
      text += fmt::format("  [list {}: {} to {}]", tensor.list, tensor.first, tensor.last);
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
