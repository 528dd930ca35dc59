#include "coda/trace/print_cpp.h"

#include <fmt/format.h>

#include "coda/trace/print_body.h"

namespace coda::trace {
namespace {

std::string element_name(DType type) {
  switch (type) {
    case DType::kFp32: return "float";
    case DType::kInt32: return "int32_t";
    case DType::kInt64: return "int64_t";
    default: return fmt::format("coda::{}", dtype_name(type));
  }
}

std::string port_type(const PortView& port, const PortFacts& facts) {
  const std::string element = element_name(port.dtype);
  const std::string cut = port.segments > 1 ? fmt::format(", {}", port.segments) : "";
  std::string type;
  switch (port.kind) {
    case PortKind::kScalar: type = fmt::format("coda::Scalar<{}>", element); break;
    case PortKind::kStore: type = fmt::format("coda::Store<{}{}>", element, cut); break;
    case PortKind::kPerRowFrom:
      type = fmt::format("coda::PerRowFrom<{}>", facts.finish->type);
      break;
    case PortKind::kRowReduce:
    case PortKind::kColumnReduce:
      type = fmt::format(
          "coda::{}<{}{}>", kind_name(port.kind), facts.reduction->type,
          port.partial_width == kPartialWidth ? "" : fmt::format(", {}", port.partial_width));
      break;
    case PortKind::kPairTable:
    case PortKind::kPerHead:
      type = fmt::format("coda::{}<const {}>", kind_name(port.kind), element);
      break;
    default: type = fmt::format("coda::{}<const {}{}>", kind_name(port.kind), element, cut);
  }
  if (port.paired) type = fmt::format("coda::Paired<{}>", type);
  if (port.optional) type = fmt::format("coda::Optional<{}>", type);
  return type;
}

// C++ has no literals of 16 bits: such a number is given when the program is called.
std::string default_number(const PortView& port, const PortFacts& facts) {
  if (port.kind != PortKind::kScalar || dtype_bytes(port.dtype) == 2) return "";
  const Element element = is_integer(port.dtype) ? Element::kInteger : Element::kFloat;
  return fmt::format("{{{}}}", literal(facts.number, element));
}

}  // namespace

std::string camel_case(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_' || c == '-') {
      upper = true;
    } else {
      const bool small = c >= 'a' && c <= 'z';  // in any locale
      result += static_cast<char>(upper && small ? c - 'a' + 'A' : c);
      upper = false;
    }
  }
  return result;
}

std::string print_formula(const Graph& graph) {
  return BodyPrinter(graph, Style::kFormula).print();
}

std::string print_cpp(const Graph& graph, const PrintOptions& options) {
  std::string result;
  for (size_t begin = 0; begin < options.head.size();) {
    const size_t end = std::min(options.head.find('\n', begin), options.head.size());
    result += fmt::format("// {}\n", options.head.substr(begin, end - begin));
    begin = end + 1;
  }
  result += fmt::format("struct {} {{\n", options.type);
  std::vector<std::string> declarations, names;
  size_t widest = 0;
  for (size_t i = 0; i < graph.program.ports.size(); ++i) {
    const PortView& port = graph.program.ports[i];
    declarations.push_back(fmt::format("{} {}{};", port_type(port, graph.facts[i]), port.name,
                                       default_number(port, graph.facts[i])));
    names.push_back(fmt::format("\"{}\"", port.name));
    widest = std::max(widest, declarations.back().size());
  }
  for (size_t i = 0; i < declarations.size(); ++i) {
    const PortView& port = graph.program.ports[i];
    const auto comment = options.comments.find(port.name);
    result += fmt::format("  {:{}}  // {}{}\n", declarations[i], widest, shape_name(port),
                          comment == options.comments.end() ? "" : ": " + comment->second);
  }
  result += fmt::format("\n  static constexpr const char* name = \"{}\";\n", graph.program.name);
  result += "  static constexpr auto port_names = coda::names(";
  size_t column = 55;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string text = names[i] + (i + 1 < names.size() ? "," : ");");
    if (column + text.size() + 1 > 100) {
      result += "\n      ";
      column = 6;
    }
    result += (i == 0 || column == 6 ? "" : " ") + text;
    column += text.size() + 1;
  }
  result += names.empty() ? ");\n" : "\n";
  if (graph.program.accumulators > 1) {
    result +=
        fmt::format("  static constexpr int accumulators = {};\n", graph.program.accumulators);
  }
  if (graph.program.groups) result += "  static constexpr bool groups = true;\n";
  result += "\n  template <class Tile>\n  CODA_HD void operator()(Tile& tile) const {\n";
  return result + BodyPrinter(graph).print() + "  }\n};\n";
}

}  // namespace coda::trace
