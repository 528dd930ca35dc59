#include "coda/tools/produced_operand.h"

#include <cstring>

#include "coda/catalogue/simulated.h"
#include "coda/tools/call_kernels.h"

namespace coda::tools {
namespace {

using catalogue::Call;

constexpr int64_t kTmaBytes = 16;

OperandView nothing_to_multiply(DType type, int64_t rows) {
  OperandView operand;
  operand.part[0][0] = {nullptr, type, rows, 0, 0, Major::kRow, dtype_bytes(type)};
  return operand;
}

// to = 0·0ᵀ + from
Call copy_call(const TensorView& to, const TensorView& from) {
  return {nothing_to_multiply(to.dtype, to.rows),
          nothing_to_multiply(to.dtype, to.columns),
          {{"c", {from}, 0}, {"out", {to}, 0}}};
}

std::byte* line_of(const TensorView& view, int64_t line) {
  auto* data = static_cast<std::byte*>(const_cast<void*>(view.data));
  return data + line * view.ld * view.element_bytes;
}

}  // namespace

ProducedOperand::ProducedOperand(const OperandView& operand, std::vector<sim::Launch>& stream,
                                 int multiprocessors) {
  const catalogue::Operation& linear = catalogue::find_operation("linear");
  const DType type = operand.part[0][0].dtype;
  const catalogue::Variant& variant = find_variant(linear, dtype_name(type));
  const catalogue::SimulatedProgram& program = *find_simulated(variant);
  for (int s = 0; s < operand.segments; ++s) {
    const TensorView& view = operand.part[0][s];
    if (view.empty()) continue;
    Part part{
        {view.data, type, view.lines(), view.line(), view.ld, Major::kRow, view.element_bytes},
        {},
        0};
    const int64_t granule = kTmaBytes / view.element_bytes;
    part.pitch = (view.line() + granule - 1) / granule * granule;
    const auto bytes = static_cast<size_t>(view.line() * view.element_bytes);
    part.lines.resize(static_cast<size_t>(view.lines() * part.pitch * view.element_bytes));
    TensorView copy = part.view;
    copy.data = part.lines.data();
    copy.ld = part.pitch;
    const Call call = copy_call(part.view, copy);
    if (fitting_kernels(program.kernels(), variant, call).empty()) return;
    for (int64_t i = 0; i < view.lines(); ++i) {
      std::memcpy(line_of(copy, i), line_of(part.view, i), bytes);
    }
    program.enqueue(call, {stream, multiprocessors});
    parts_.push_back(std::move(part));
  }
}

ProducedOperand::~ProducedOperand() {
  for (const Part& part : parts_) {
    const auto bytes = static_cast<size_t>(part.view.columns * part.view.element_bytes);
    for (int64_t i = 0; i < part.view.rows; ++i) {
      std::memcpy(line_of(part.view, i),
                  part.lines.data() + i * part.pitch * part.view.element_bytes, bytes);
    }
  }
}

void ProducedOperand::forget() {
  constexpr int kNan = 0xff;  // in every byte: NaN in every type
  for (const Part& part : parts_) {
    const auto bytes = static_cast<size_t>(part.view.columns * part.view.element_bytes);
    for (int64_t i = 0; i < part.view.rows; ++i) std::memset(line_of(part.view, i), kNan, bytes);
  }
}

}  // namespace coda::tools
