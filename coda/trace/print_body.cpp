#include "coda/trace/print_body.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "coda/trace/words.h"

namespace coda::trace {
namespace {

constexpr size_t kLongest = 72;  // of an expression inside another one
constexpr int kWhole = -1, kUnused = -2;

}  // namespace

std::string literal(double value, Element element) {
  if (element == Element::kMask) return value != 0 ? "true" : "false";
  if (element == Element::kInteger) return fmt::format("{}", static_cast<int64_t>(value));
  const auto number = static_cast<float>(value);  // a number of fp64 may be beyond it
  if (std::isnan(number)) return "coda::stdlib::numeric_limits<float>::quiet_NaN()";
  if (std::isinf(number)) {
    return number < 0 ? "-coda::stdlib::numeric_limits<float>::infinity()"
                      : "coda::stdlib::numeric_limits<float>::infinity()";
  }
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

BodyPrinter::BodyPrinter(const Graph& graph, Style style)
    : graph_(graph),
      style_(style),
      uses_(graph.nodes.size()),
      segment_(graph.nodes.size(), kUnused),
      late_(graph.nodes.size(), true),
      texts_(graph.nodes.size()),
      taken_{"row", "column"} {
  for (const PortView& port : graph.program.ports) taken_.insert(port.name);
  count_uses();
  find_late();
}

// Of nodes that some segment needs for its outputs up to the first store, or for several: those
// get names before any output.
void BodyPrinter::find_late() {
  for (const std::vector<Output>& outputs : graph_.segments) {
    for (const Output& output : outputs) {
      for (const int value : output.values) late_[static_cast<size_t>(value)] = false;
      if (graph_.program.ports[static_cast<size_t>(output.port)].kind == PortKind::kStore) break;
    }
  }
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (late_[i] && uses_[i] < 2) continue;
    const Node& node = graph_.nodes[i];
    for (int k = 0; k < node.operands(); ++k) {
      late_[static_cast<size_t>(node.operand[static_cast<size_t>(k)])] = false;
    }
  }
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

bool BodyPrinter::taken(const std::string& name) const {
  return taken_.contains(name) || is_taken(name);
}

std::string BodyPrinter::fresh(const std::string& base) {
  std::string name = base;
  for (int i = 2; taken(name); ++i) name = fmt::format("{}{}", base, i);
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
      if (name.back() != '_' && !taken(name)) return fresh(name);
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

// Those of one segment, or of several.
void BodyPrinter::print_nodes(int segment, int indent) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (segment_[i] != segment) continue;
    const Node& node = graph_.nodes[i];
    texts_[i] = expression(static_cast<int>(i), indent);
    const bool part =
        texts_[i].text.find('(') == std::string::npos && texts_[i].level == kPrimaryLevel;
    const bool plain = node.kind == NodeKind::kConstant || node.kind == NodeKind::kHeadDim || part;
    // On the GPU an output may take the place of a tensor that was loaded: load it before.
    const bool early = style_ == Style::kCode && late_[i] && node.kind == NodeKind::kLoad &&
                       node.space == Space::kElement;
    if (plain || (!early && uses_[i] < 2 && texts_[i].text.size() <= kLongest)) continue;
    const std::string name = name_for(node);
    line(indent, style_ == Style::kFormula
                     ? fmt::format("{} = {}", name, texts_[i].text)
                     : fmt::format("const auto {} = {};", name, texts_[i].text));
    texts_[i] = {name, kPrimaryLevel};
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
      const auto& facts = graph_.facts[static_cast<size_t>(output.port)].reduction;
      const std::string type = facts == nullptr ? "" : facts->type;
      const std::string reduction = type.starts_with("coda::") ? type.substr(6) : type;
      line(indent, port.kind == PortKind::kStore
                       ? fmt::format("{} = {}", port.name, text)
                       : fmt::format("{} = {} of {} {}: {}", port.name, reduction,
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
