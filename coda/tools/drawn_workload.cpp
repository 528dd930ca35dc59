#include "coda/tools/drawn_workload.h"

#include <algorithm>
#include <cstring>

#include "coda/core/random.h"

namespace coda::tools {
namespace {

constexpr size_t kAlignment = 256;
constexpr int64_t kPattern = 1048573;  // prime: lines of a matrix do not repeat in step

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

std::vector<std::byte> draw_pattern(const catalogue::DrawnTensor& tensor, DType type) {
  std::vector<std::byte> bytes;
  Random random(1);
  const int64_t count = std::min(tensor.rows * tensor.columns, kPattern);
  for (int64_t i = 0; i < count; ++i) {
    const double value = tensor.values.draw(random, i);
    switch (type) {
      case DType::kBf16: append(bytes, from_float<bf16>(static_cast<float>(value))); break;
      case DType::kFp16: append(bytes, from_float<fp16>(static_cast<float>(value))); break;
      case DType::kInt32: append(bytes, static_cast<int32_t>(value)); break;
      case DType::kInt64: append(bytes, static_cast<int64_t>(value)); break;
      default: append(bytes, static_cast<float>(value));
    }
  }
  return bytes;
}

}  // namespace

DrawnWorkload::DrawnWorkload(const catalogue::Variant& variant, const Shape& shape, bool all_ports,
                             const Allocate& allocate)
    : variant_(&variant) {
  const catalogue::DrawSize size{shape.M, shape.N, shape.K};
  Random random(1);
  const catalogue::DrawnCase drawn = variant.draw(
      {.variant = variant, .random = random, .gpu = true, .size = &size, .all_ports = all_ports});
  bytes_ = drawn.bytes;
  for (const auto& tensor : drawn.inputs) add(tensor, true, allocate);
  for (const auto& tensor : drawn.outputs) {
    if (find_argument(call_.arguments, tensor.name) == nullptr) add(tensor, false, allocate);
  }
  for (const std::string& name : variant.parameters) {
    const auto number = drawn.numbers.find(name);
    if (number != drawn.numbers.end()) call_.arguments.push_back({name, {}, number->second});
  }
}

void DrawnWorkload::add(const catalogue::DrawnTensor& tensor, bool input,
                        const Allocate& allocate) {
  const auto port = std::ranges::find(variant_->program.ports, tensor.name, &PortView::name);
  const int64_t count = tensor.rows * tensor.columns;
  const auto pattern = input ? draw_pattern(tensor, port->dtype) : std::vector<std::byte>{};
  const void* data = allocate(count * port->element_bytes, pattern);
  const TensorView view{data,           port->dtype, tensor.rows,        tensor.columns,
                        tensor.columns, Major::kRow, port->element_bytes};
  call_.arguments.push_back({tensor.name, {view}, 0});
}

CpuDrawnWorkload::CpuDrawnWorkload(const catalogue::Variant& variant, const Shape& shape,
                                   bool all_ports)
    : variant_(&variant),
      workload_(variant, shape, all_ports,
                [this](int64_t bytes, std::span<const std::byte> pattern) {
                  return allocate(bytes, pattern);
                }),
      from_(static_cast<size_t>(workload_.bytes() / 2)),
      to_(from_.size()) {}

void* CpuDrawnWorkload::allocate(int64_t bytes, std::span<const std::byte> pattern) {
  auto& memory = memory_.emplace_back(static_cast<size_t>(bytes) + kAlignment);
  const size_t phase = reinterpret_cast<uintptr_t>(memory.data()) % kAlignment;
  std::byte* const begin = memory.data() + (kAlignment - phase);
  for (size_t done = 0; !pattern.empty() && done < static_cast<size_t>(bytes);) {
    const size_t more = std::min(pattern.size(), static_cast<size_t>(bytes) - done);
    std::memcpy(begin + done, pattern.data(), more);
    done += more;
  }
  return begin;
}

void CpuDrawnWorkload::copy(int threads) const {
  const size_t part =
      (from_.size() + static_cast<size_t>(threads) - 1) / static_cast<size_t>(threads);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < threads; ++i) {
    const size_t begin = std::min(part * static_cast<size_t>(i), from_.size());
    std::memcpy(to_.data() + begin, from_.data() + begin, std::min(part, from_.size() - begin));
  }
}

}  // namespace coda::tools
