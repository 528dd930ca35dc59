#include "coda/block/list_maker.h"

#include <cmath>

namespace coda::block {
namespace {

attention::Shape attention_shape(const Sizes& sizes) {
  return {sizes.batch,    sizes.sequence, sizes.heads,
          sizes.kv_heads, sizes.head_dim, 1 / std::sqrt(static_cast<float>(sizes.head_dim))};
}

}  // namespace

ListMaker::ListMaker(const Sizes& sizes, DType type, Recompute recompute, MemoryPlan& plan)
    : sizes_(sizes),
      type_(type),
      type_name_(dtype_name(type)),
      recompute_(recompute),
      plan_(plan) {}

TensorView ListMaker::activation(const std::string& name, DType type, int64_t rows,
                                 int64_t columns) const {
  return plan_.declare(name, Use::kActivation, type, rows, columns);
}

TensorView ListMaker::row_sums(const std::string& name, int64_t columns) const {
  return activation(name, DType::kFp32, partials(columns), sizes_.tokens());
}

TensorView ListMaker::column_sums(const std::string& name, int64_t columns) const {
  return activation(name + " partials", DType::kFp32, partials(sizes_.tokens()), columns);
}

void ListMaker::add(Nodes& nodes, const char* label, const char* operation,
                    const std::string& variant, const OperandView& a, const OperandView& b,
                    std::vector<Argument> arguments) const {
  const catalogue::Operation& found = catalogue::find_operation(operation);
  nodes.push_back(
      {std::string(label) + " " + operation,
       CallNode{&found, &catalogue::find_variant(found, variant), {a, b, std::move(arguments)}}});
}

void ListMaker::finish_gradient(Nodes& nodes, const TensorView& partials,
                                const TensorView& gradient, bool accumulate) const {
  add(nodes, "  ", "finish_columns", "fp32", {}, {},
      {port("partials", partials), port("out", gradient),
       number("accumulate", accumulate ? 1 : 0)});
}

std::vector<Argument> ListMaker::weight_grad_arguments(const Parameter& weight,
                                                       bool accumulate) const {
  std::vector<Argument> arguments = {port("out", weight.gradient)};
  if (accumulate) arguments.push_back(port("c", weight.gradient));
  return arguments;
}

void ListMaker::weight_grad(Nodes& nodes, const char* label, const OperandView& a,
                            const OperandView& b, const Parameter& weight, bool accumulate) const {
  add(nodes, label, "linear_weight_grad", fp32_variant(), a, b,
      weight_grad_arguments(weight, accumulate));
}

void ListMaker::embedding_backward(Nodes& nodes, const TensorView& dx, const TensorView& ids,
                                   const Parameter& table, bool accumulate) const {
  add(nodes, "B9", "embedding_backward", fp32_variant(), {}, {},
      {port("dx", dx), port("tokens", ids), port("out", table.gradient),
       number("accumulate", accumulate ? 1 : 0)});
}

void ListMaker::attention(Nodes& nodes, const attention::Forward& tensors) const {
  nodes.push_back({"attention", AttentionNode{attention_shape(sizes_), tensors}});
}

void ListMaker::attention_backward(Nodes& nodes, const attention::Backward& tensors) const {
  nodes.push_back({"attention backward", AttentionBackwardNode{attention_shape(sizes_), tensors}});
}

}  // namespace coda::block
