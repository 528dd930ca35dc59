#include "coda/tools/stacked_tensors.h"

#include <fmt/format.h>

namespace coda::tools {

void StackedTensors::stack(const std::string& whole, DType type, int64_t columns,
                           const Named& parts) {
  int64_t rows = 0;
  for (const auto& [name, count] : parts) {
    names_[name] = {tensors_.size(), rows, count};
    rows += count;
  }
  names_[whole] = {tensors_.size(), 0, rows};
  const int64_t pitch = (columns + 7) / 8 * 8 + 8;  // 16 bytes, as a GPU wants them
  tensors_.emplace_back(
      TensorView{nullptr, type, rows, columns, pitch, Major::kRow, dtype_bytes(type)}, 0);
}

TensorView StackedTensors::view(const std::string& name) const {
  const Rows& rows = names_.at(name);
  TensorView result = tensors_[rows.tensor].view();
  result.data =
      static_cast<const std::byte*>(result.data) + rows.begin * result.ld * result.element_bytes;
  result.rows = rows.count;
  return result;
}

std::vector<std::span<std::byte>> StackedTensors::memory() {
  std::vector<std::span<std::byte>> result;
  for (GuardedTensor& tensor : tensors_) result.emplace_back(tensor.bytes());
  return result;
}

reference::Array StackedTensors::result(const std::string& name) const {
  const Rows& rows = names_.at(name);
  const GuardedTensor& tensor = tensors_[rows.tensor];
  reference::Array result(rows.count, tensor.view().columns);
  for (int64_t i = 0; i < result.rows; ++i) {
    for (int64_t j = 0; j < result.columns; ++j) result(i, j) = tensor.get(rows.begin + i, j);
  }
  return result;
}

std::string StackedTensors::damage() const {
  for (const auto& [name, rows] : names_) {
    const std::string found = tensors_[rows.tensor].damage();
    if (!found.empty()) return fmt::format("{}: {}", name, found);
  }
  return "";
}

void StackedTensors::set(const std::string& name, const reference::Array& values) {
  const Rows& rows = names_.at(name);
  for (int64_t i = 0; i < values.rows; ++i) {
    for (int64_t j = 0; j < values.columns; ++j) {
      tensors_[rows.tensor].set(rows.begin + i, j, values(i, j));
    }
  }
}

}  // namespace coda::tools
