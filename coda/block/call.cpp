#include "coda/block/call.h"

namespace coda::block {

void append(std::vector<Argument>& to, std::vector<Argument> more) {
  for (Argument& argument : more) to.push_back(std::move(argument));
}

OperandView operand(Cut cut, const std::vector<TensorView>& parts) {
  OperandView result;
  result.segments = static_cast<int>(parts.size());
  result.cut = parts.size() > 1 ? cut : Cut::kNone;
  for (size_t i = 0; i < parts.size(); ++i) result.part[0][i] = parts[i];
  return result;
}

OperandView pair_of(const TensorView& first, const TensorView& second) {
  OperandView result = operand(first);
  result.accumulators = 2;
  result.part[1][0] = second;
  return result;
}

OperandView halves_of(int64_t head_dim, const std::vector<TensorView>& parts) {
  OperandView result = operand(Cut::kRows, parts);
  result.accumulators = 2;
  result.halved = true;
  result.head_dim = head_dim;
  for (int i = 0; i < result.segments; ++i) result.part[1][i] = result.part[0][i];
  return result;
}

}  // namespace coda::block
