#include "coda/trace/print_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace coda::trace {
namespace {

constexpr int kPrimary = 9, kUnary = 8, kProduct = 7, kSum = 6, kLess = 5, kEqual = 4, kAnd = 3,
              kOr = 2;
constexpr size_t kLongest = 72;  // of an expression inside another one
constexpr int kWhole = -1, kUnused = -2;

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

std::string literal(double value, Element element) {
  if (element == Element::kMask) return value != 0 ? "true" : "false";
  if (element == Element::kInteger) return fmt::format("{}", static_cast<int64_t>(value));
  if (std::isinf(value)) {
    return value < 0 ? "-stdlib::numeric_limits<float>::infinity()"
                     : "stdlib::numeric_limits<float>::infinity()";
  }
  std::string text = fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

BodyPrinter::BodyPrinter(const Graph& graph, Style style)
    : graph_(graph),
      style_(style),
      uses_(graph.nodes.size()),
      segment_(graph.nodes.size(), kUnused),
      texts_(graph.nodes.size()),
      taken_{"tile", "auto", "int", "do", "if", "for", "float", "row", "column"} {
  for (const PortView& port : graph.program.ports) taken_.insert(port.name);
  for (const char* function : {"exp", "log", "abs", "min", "max", "fma", "erf", "sqrt", "rsqrt",
                               "tanh", "floor", "select", "sigmoid", "relu", "rotation"}) {
    taken_.insert(function);
  }
  count_uses();
}

void BodyPrinter::count_uses() {
  const auto mark = [&](int node, int segment) {
    int& seen = segment_[static_cast<size_t>(node)];
    seen = seen == kUnused || seen == segment ? segment : kWhole;
  };
  const bool one = graph_.segments.size() == 1;
  for (size_t s = 0; s < graph_.segments.size(); ++s) {
    for (const Output& output : graph_.segments[s]) {
      for (const int value : output.values) {
        mark(value, one ? kWhole : static_cast<int>(s));
        ++uses_[static_cast<size_t>(value)];
      }
    }
  }
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (segment_[i] == kUnused) continue;
    const Node& node = graph_.nodes[i];
    for (int k = 0; k < node.operands(); ++k) {
      const int operand = node.operand[static_cast<size_t>(k)];
      mark(operand, segment_[i]);
      ++uses_[static_cast<size_t>(operand)];
    }
  }
}

void BodyPrinter::line(int indent, const std::string& text) {
  constexpr size_t kColumns = 100;
  std::string rest = std::string(static_cast<size_t>(indent), ' ') + text;
  while (rest.size() > kColumns) {
    const size_t cut = rest.rfind(' ', kColumns);
    const std::string next =
        std::string(static_cast<size_t>(indent) + 4, ' ') + rest.substr(cut + 1);
    if (cut == std::string::npos || next.size() >= rest.size()) break;
    result_ += rest.substr(0, cut) + "\n";
    rest = next;
  }
  result_ += rest + "\n";
}

std::string BodyPrinter::fresh(const std::string& base) {
  std::string name = base;
  for (int i = 2; taken_.contains(name); ++i) name = fmt::format("{}{}", base, i);
  taken_.insert(name);
  return name;
}

// A port's value goes by the beginning of its name.
std::string BodyPrinter::name_for(const Node& node) {
  if (node.kind == NodeKind::kAccumulator) return fresh("acc");
  if (node.kind == NodeKind::kLoad) {
    const std::string& port = graph_.program.ports[static_cast<size_t>(node.port)].name;
    for (size_t length = 1; length < port.size(); ++length) {
      const std::string name = port.substr(0, length);
      if (name.back() != '_' && !taken_.contains(name)) return fresh(name);
    }
    return fresh(port + "_value");
  }
  if (node.kind == NodeKind::kGroupSum) return fresh("head_sum");
  switch (node.function) {
    case Function::kSigmoid: return fresh("s");
    case Function::kExp: return fresh("e");
    case Function::kTanh: return fresh("t");
    case Function::kSqrt:
    case Function::kRsqrt: return fresh("root");
    case Function::kAdd:
    case Function::kSubtract: return fresh("sum");
    case Function::kMultiply: return fresh("product");
    case Function::kDivide: return fresh("ratio");
    case Function::kSelect: return fresh("chosen");
    default: return fresh(node.element == Element::kMask ? "mask" : "value");
  }
}

// A pair of values that a call gives together: its name, after the call itself where it is the
// first of them.
std::string BodyPrinter::grouped(const std::string& what, const std::string& base, int indent) {
  for (const Scope* scope : {&whole_, &inner_}) {
    const auto found = scope->find(what);
    if (found != scope->end()) return found->second;
  }
  const std::string name = fresh(base);
  line(indent, fmt::format("const auto {} = {};", name, what));
  (inside_ ? inner_ : whole_)[what] = name;
  return name;
}

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
    if (style_ == Style::kFormula && node.function == Function::kMultiply) {
      return {operand(x[0], level) + "·" + operand(x[1], level), level};
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
  return {fmt::format("{}({})", facts.name, fmt::join(operands, ", ")), kPrimary};
}

BodyPrinter::Text BodyPrinter::formula_leaf(const Node& node) const {
  const auto port = [&] { return graph_.program.ports[static_cast<size_t>(node.port)]; };
  const char* const half = node.member == 0 ? "first" : "second";
  switch (node.kind) {
    case NodeKind::kConstant: {
      std::string text = literal(node.value, Element::kFloat);
      text.pop_back();
      if (text.ends_with(".0")) text.resize(text.size() - 2);
      return {std::isinf(node.value) ? "∞" : text, node.value < 0 ? kUnary : kPrimary};
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
    const std::string call =
        fmt::format("rotation({}, {})", operand(node.operand[0], 0), operand(node.operand[1], 0));
    const char* part = node.function == Function::kCosine ? "cosine" : "sine";
    return {fmt::format("{}.{}", grouped(call, "turn", indent), part), kPrimary};
  }
  return applied(node);
}

// Those of one segment, or of several.
void BodyPrinter::print_nodes(int segment, int indent) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (segment_[i] != segment) continue;
    const Node& node = graph_.nodes[i];
    texts_[i] = expression(static_cast<int>(i), indent);
    const bool part = texts_[i].text.find('(') == std::string::npos && texts_[i].level == kPrimary;
    const bool plain = node.kind == NodeKind::kConstant || node.kind == NodeKind::kHeadDim || part;
    if (plain || (uses_[i] < 2 && texts_[i].text.size() <= kLongest)) continue;
    const std::string name = name_for(node);
    line(indent, style_ == Style::kFormula
                     ? fmt::format("{} = {}", name, texts_[i].text)
                     : fmt::format("const auto {} = {};", name, texts_[i].text));
    texts_[i] = {name, kPrimary};
  }
}

void BodyPrinter::print_outputs(const std::vector<Output>& outputs, int indent) {
  for (const Output& output : outputs) {
    const PortView& port = graph_.program.ports[static_cast<size_t>(output.port)];
    std::vector<std::string> values;
    for (const int value : output.values) values.push_back(texts_[static_cast<size_t>(value)].text);
    if (style_ == Style::kFormula) {
      const bool rows = port.kind == PortKind::kRowReduce;
      const std::string text = fmt::format("{}", fmt::join(values, ", "));
      line(indent, port.kind == PortKind::kStore
                       ? fmt::format("{} = {}", port.name, text)
                       : fmt::format("{} = {} of {} {}: {}", port.name,
                                     graph_.facts[static_cast<size_t>(output.port)].reduction->type,
                                     port.partial_width, rows ? "columns" : "rows", text));
      continue;
    }
    line(indent, fmt::format("tile.{}({}, {});", port.kind == PortKind::kStore ? "store" : "reduce",
                             port.name, fmt::join(values, ", ")));
  }
}

std::string BodyPrinter::print() {
  print_nodes(kWhole, 4);
  const size_t segments = graph_.segments.size();
  if (segments == 1) {
    print_outputs(graph_.segments[0], 4);
    return result_;
  }
  for (size_t s = 0; s < segments && style_ == Style::kFormula; ++s) {
    line(4, fmt::format("segment {}:", s));
    print_nodes(static_cast<int>(s), 6);
    print_outputs(graph_.segments[s], 6);
  }
  if (style_ == Style::kFormula) return result_;
  // Neighbours that do the same share a branch.
  const auto same = [](const Output& a, const Output& b) {
    return a.port == b.port && a.values == b.values;
  };
  for (size_t s = 0, last = 0; s < segments; s = last + 1) {
    last = s;
    while (last + 1 < segments &&
           std::ranges::equal(graph_.segments[s], graph_.segments[last + 1], same)) {
      ++last;
    }
    const std::string condition = last + 1 == segments ? ""
                                                       : fmt::format("if (tile.segment() {} {}) ",
                                                                     s == last ? "==" : "<=", last);
    line(s == 0 ? 4 : 0, fmt::format("{}{}{{", s == 0 ? "" : " else ", condition));
    inside_ = true;
    inner_.clear();
    print_nodes(static_cast<int>(s), 6);
    print_outputs(graph_.segments[s], 6);
    result_ += "    }";
  }
  return result_ + "\n";
}

}  // namespace coda::trace
