#include "coda/block/node.h"

namespace coda::block {
namespace {

using Visit = std::function<void(TensorView&)>;

void visit_operand(OperandView& operand, const Visit& f) {
  for (int accumulator = 0; accumulator < operand.accumulators; ++accumulator) {
    for (int i = 0; i < operand.segments; ++i) f(operand.part[accumulator][i]);
  }
}

void visit(CallNode& node, const Visit& f) {
  if (node.operation->has_operands) {
    visit_operand(node.call.a, f);
    visit_operand(node.call.b, f);
  }
  for (Argument& argument : node.call.arguments) {
    for (TensorView& view : argument.tensors) f(view);
  }
}

void visit(AttentionNode& node, const Visit& f) {
  attention::Forward& t = node.tensors;
  for (TensorView* view : {&t.q, &t.k, &t.v, &t.y, &t.lse}) f(*view);
}

void visit(AttentionBackwardNode& node, const Visit& f) {
  attention::Backward& t = node.tensors;
  for (TensorView* view : {&t.q, &t.k, &t.v, &t.y, &t.lse, &t.dy, &t.dq, &t.dk, &t.dv}) f(*view);
}

void visit(HeadNode& node, const Visit& f) {
  for (TensorView* view :
       {&node.x, &node.weight, &node.targets, &node.loss, &node.lse, &node.norm.squares}) {
    f(*view);
  }
  if (!node.with_gradients) return;
  for (TensorView* view : {&node.dloss, &node.dweight, &node.dx, &node.norm.stream,
                           &node.norm.gamma, &node.norm.dots, &node.norm.dgamma}) {
    f(*view);
  }
}

}  // namespace

void for_each_view(Node& node, const Visit& f) {
  std::visit([&](auto& work) { visit(work, f); }, node.work);
  f(node.workspace);
}

}  // namespace coda::block
