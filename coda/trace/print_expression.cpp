// The expressions of BodyPrinter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "coda/trace/print_body.h"

namespace coda::trace {
namespace {

constexpr int kPrimary = kPrimaryLevel, kUnary = 8, kProduct = 7, kSum = 6, kLess = 5, kEqual = 4,
              kAnd = 3, kOr = 2;

int level_of(Function function) {
  switch (function) {
    case Function::kAdd:
    case Function::kSubtract: return kSum;
    case Function::kMultiply:
    case Function::kDivide: return kProduct;
    case Function::kNegate:
    case Function::kNot: return kUnary;
    case Function::kLess:
    case Function::kLessEqual: return kLess;
    case Function::kEqual:
    case Function::kNotEqual: return kEqual;
    case Function::kAnd: return kAnd;
    case Function::kOr: return kOr;
    default: return kPrimary;
  }
}

}  // namespace

std::string BodyPrinter::operand(int node, int least) const {
  const Text& text = texts_[static_cast<size_t>(node)];
  return text.level >= least ? text.text : "(" + text.text + ")";
}

BodyPrinter::Text BodyPrinter::applied(const Node& node) const {
  const FunctionFacts& facts = facts_of(node.function);
  const int level = level_of(node.function);
  const auto& x = node.operand;
  if (level == kUnary) return {facts.name + operand(x[0], kPrimary), kUnary};
  if (level < kPrimary) {
    const auto first_is_constant = [&](const Node& product) {
      const size_t first = static_cast<size_t>(product.operand[0]);
      return product.kind == NodeKind::kApply && product.function == Function::kMultiply &&
             graph_.nodes[first].kind == NodeKind::kConstant;
    };
    if (node.function == Function::kMultiply) {
      // c·(d·x) where c·d overflows, else the builder had made one constant of them.
      const bool apart =
          first_is_constant(node) && first_is_constant(graph_.nodes[static_cast<size_t>(x[1])]);
      return {operand(x[0], level) + (style_ == Style::kFormula ? "·" : " * ") +
                  operand(x[1], apart ? level + 1 : level),
              level};
    }
    const bool ordered = node.function == Function::kSubtract ||
                         node.function == Function::kDivide || level <= kEqual || level == kLess;
    return {fmt::format("{} {} {}", operand(x[0], level), facts.name,
                        operand(x[1], ordered ? level + 1 : level)),
            level};
  }
  std::vector<std::string> operands;
  for (int k = 0; k < facts.operands; ++k)
    operands.push_back(operand(x[static_cast<size_t>(k)], 0));
  const char* space = style_ == Style::kCode ? "coda::" : "";
  return {fmt::format("{}{}({})", space, facts.name, fmt::join(operands, ", ")), kPrimary};
}

BodyPrinter::Text BodyPrinter::formula_leaf(const Node& node) const {
  const auto port = [&] { return graph_.program.ports[static_cast<size_t>(node.port)]; };
  const char* const half = node.member == 0 ? "first" : "second";
  switch (node.kind) {
    case NodeKind::kConstant: {
      const int level = node.value < 0 ? kUnary : kPrimary;
      if (std::isinf(static_cast<float>(node.value))) return {node.value < 0 ? "-∞" : "∞", level};
      if (std::isnan(node.value)) return {"NaN", kPrimary};
      std::string text = literal(node.value, Element::kFloat);
      text.pop_back();
      if (text.ends_with(".0")) text.resize(text.size() - 2);
      return {text, level};
    }
    case NodeKind::kAccumulator:
      return {graph_.program.accumulators == 1
                  ? std::string("A·Bᵀ")
                  : fmt::format("A·B{}ᵀ", node.member == 0 ? "₀" : "₁"),
              kProduct};
    case NodeKind::kLoad:
      return {port().paired ? fmt::format("{}.{}", port().name, half) : port().name, kPrimary};
    case NodeKind::kLookup:
      return {fmt::format("{}[{}].{}", port().name, operand(node.operand[0], 0), half), kPrimary};
    case NodeKind::kRow: return {"row", kPrimary};
    case NodeKind::kColumn: return {"column", kPrimary};
    case NodeKind::kHeadDim: return {"head_dim", kPrimary};
    case NodeKind::kGroupSum:
      return {fmt::format("Σ_head({})", operand(node.operand[0], 0)), kPrimary};
    default: break;
  }
  return {fmt::format("{}({}·{})", facts_of(node.function).name, operand(node.operand[0], kProduct),
                      operand(node.operand[1], kProduct)),
          kPrimary};
}

BodyPrinter::Text BodyPrinter::expression(int i, int indent) {
  const Node& node = graph_.nodes[static_cast<size_t>(i)];
  const bool turn = node.kind == NodeKind::kApply &&
                    (node.function == Function::kCosine || node.function == Function::kSine);
  if (style_ == Style::kFormula && (node.kind != NodeKind::kApply || turn)) {
    return formula_leaf(node);
  }
  const auto port = [&] { return graph_.program.ports[static_cast<size_t>(node.port)]; };
  const char* const half = node.member == 0 ? "first" : "second";
  switch (node.kind) {
    case NodeKind::kConstant:
      return {literal(node.value, node.element), node.value < 0 ? kUnary : kPrimary};
    case NodeKind::kAccumulator:
      return {graph_.program.accumulators == 1 ? std::string("tile.accumulator()")
                                               : fmt::format("tile.accumulator({})", node.member),
              kPrimary};
    case NodeKind::kLoad: {
      const std::string call = fmt::format("tile.load({})", port().name);
      if (!port().paired) return {call, kPrimary};
      const auto known = whole_.contains(call) || inner_.contains(call);
      const std::string base = known ? "" : name_for(node);
      if (!known) taken_.erase(base);
      return {fmt::format("{}.{}", grouped(call, base, indent), half), kPrimary};
    }
    case NodeKind::kLookup: {
      const std::string call =
          fmt::format("tile.lookup({}, {})", port().name, operand(node.operand[0], 0));
      return {fmt::format("{}.{}", grouped(call, "looked_up", indent), half), kPrimary};
    }
    case NodeKind::kRow: return {"tile.row()", kPrimary};
    case NodeKind::kColumn: return {"tile.column()", kPrimary};
    case NodeKind::kHeadDim: return {"static_cast<float>(tile.head_dim())", kPrimary};
    case NodeKind::kGroupSum:
      return {fmt::format("tile.group_sum({})", operand(node.operand[0], 0)), kPrimary};
    case NodeKind::kApply: break;
    case NodeKind::kArgument: return {fmt::format("x{}", node.member), kPrimary};
  }
  if (turn) {
    const std::string call = fmt::format("coda::rotation({}, {})", operand(node.operand[0], 0),
                                         operand(node.operand[1], 0));
    const char* part = node.function == Function::kCosine ? "cosine" : "sine";
    return {fmt::format("{}.{}", grouped(call, "turn", indent), part), kPrimary};
  }
  return applied(node);
}

}  // namespace coda::trace
