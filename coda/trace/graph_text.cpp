#include "coda/trace/graph_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "coda/core/error.h"
#include "coda/trace/builder.h"
#include "coda/trace/print_cpp.h"
#include "coda/trace/reduction_facts.h"
#include "coda/trace/words.h"

namespace coda::trace {
namespace {

class Reader {
 public:
  ReadGraph read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      std::istringstream stream(line);
      words_.clear();
      for (std::string word; stream >> word;) words_.push_back(word);
      if (!words_.empty()) read_line();
    }
    if (result_.graph.program.name.empty()) fail("a line 'program'", "none");
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const {
    const std::string& name = result_.graph.program.name;
    throw Error(fmt::format("{}: line {} of its graph: expected {}, got {}",
                            name.empty() ? "program" : name, line_, expected, got));
  }

  const std::string& word(size_t i, const char* what) const {
    if (i >= words_.size()) fail(what, fmt::format("'{}'", fmt::join(words_, " ")));
    return words_[i];
  }

  std::string identifier(size_t i) const {
    const std::string& name = word(i, "a name");
    const bool legal = !std::isdigit(static_cast<unsigned char>(name[0])) &&
                       std::ranges::all_of(name, [](unsigned char c) {
                         return c < 128 && (std::isalnum(c) || c == '_');
                       });
    if (!legal) {
      throw Error(
          fmt::format("'{}': expected a name of ASCII letters, digits and underscores", name));
    }
    refuse_taken(name);
    return name;
  }

  std::string port_name(size_t i) const {
    const std::string name = identifier(i);
    refuse_reserved(name);
    return name;
  }

  DType element(size_t i) const {
    const std::string& name = word(i, "an element type");
    for (const DType type :
         {DType::kBf16, DType::kFp16, DType::kFp32, DType::kInt32, DType::kInt64}) {
      if (name == dtype_name(type)) return type;
    }
    fail("bf16, fp16, fp32, int32 or int64", name);
  }

  DType float_element(size_t i) const {
    const DType type = element(i);
    if (is_integer(type)) fail("bf16, fp16 or fp32", words_[i]);
    return type;
  }

  // Whatever the process's locale is.
  double number(size_t i) const {
    const std::string& text = word(i, "a number");
    const char* const end = text.data() + text.size();
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || std::isnan(value)) fail("a number", text);
    return value;
  }

  double integer(size_t i) const {
    const double value = number(i);
    if (value != std::floor(value) || value < -0x1p31 || value >= 0x1p31)
      fail("a whole number of 32 bits", words_[i]);
    return value;
  }

  int place(size_t i) const {
    const double value = number(i);
    if (!(value >= 0 && value < static_cast<double>(places_.size()) && value == std::floor(value)))
      fail("the place of a node before", words_[i]);
    return places_[static_cast<size_t>(value)];
  }

  void read_line() {
    const std::string& first = words_[0];
    if (first == "program") return read_program();
    if (result_.graph.program.name.empty()) fail("a line 'program' first", first);
    if (first == "port") return read_port();
    if (first == "node") {
      places_.push_back(read_node());
    } else if (first == "output") {
      read_output();
    } else {
      fail("program, port, node or output", first);
    }
  }

  void read_program() {
    ProgramView& program = result_.graph.program;
    if (!program.name.empty()) fail("one line 'program'", "another");
    result_.operand = float_element(2);
    const double count = number(3);
    if (count != 1 && count != 2) fail("1 or 2 accumulators", words_[3]);
    program.accumulators = static_cast<int>(count);
    program.name = identifier(1);
    const std::string struct_name = camel_case(program.name);
    if (struct_name.empty() || std::isdigit(struct_name[0])) {
      throw Error(
          fmt::format("'{}': expected a program's name to have a letter first", program.name));
    }
    refuse_taken(struct_name);
    refuse_reserved(struct_name);
    // Types that stand inside of it.
    for (const char* type : {"PerElement", "PerRow", "PerColumn", "Scalar", "Store", "RowReduce",
                             "ColumnReduce", "Sum", "Max", "LogSumExp"}) {
      if (struct_name != type) continue;
      throw Error(fmt::format("'{}' is taken by coda::{}: give the program another name",
                              program.name, type));
    }
  }

  void read_port() {
    Graph& graph = result_.graph;
    PortView view;
    PortFacts facts;
    view.kind = kind(word(1, "a kind of port"));
    view.name = port_name(2);
    view.given = true;
    for (const PortView& other : graph.program.ports) {
      if (other.name == view.name) fail("a name of its own for every port", view.name);
    }
    if (view.kind == PortKind::kRowReduce || view.kind == PortKind::kColumnReduce) {
      facts.reduction = reduction(word(3, "a reduction"));
      const bool plain = facts.reduction->members == 1;
      view.dtype = plain ? DType::kFp32 : DType::kState;
      view.element_bytes = 4 * facts.reduction->members;
      view.alignment = 4;
      view.partial_width = kPartialWidth;
    } else {
      // Kernels read integers by rows alone, and scalars as floats.
      view.dtype = view.kind == PortKind::kPerRow ? element(3) : float_element(3);
      if (view.kind == PortKind::kScalar && view.dtype != DType::kFp32)
        fail("fp32, which a Scalar is", words_[3]);
      view.element_bytes = view.alignment = dtype_bytes(view.dtype);
      if (view.kind == PortKind::kScalar && words_.size() > 4) facts.number = number(4);
    }
    graph.program.ports.push_back(view);
    graph.facts.push_back(facts);
    if (graph.program.ports.size() > static_cast<size_t>(kMaxPorts)) {
      throw Error(fmt::format("{}: a program has at most {} ports, inputs and outputs together",
                              graph.program.name, kMaxPorts));
    }
  }

  PortKind kind(const std::string& name) const {
    for (const PortKind kind :
         {PortKind::kPerElement, PortKind::kPerRow, PortKind::kPerColumn, PortKind::kScalar,
          PortKind::kStore, PortKind::kRowReduce, PortKind::kColumnReduce}) {
      if (name == kind_name(kind)) return kind;
    }
    fail("PerElement, PerRow, PerColumn, Scalar, Store, RowReduce or ColumnReduce", name);
  }

  std::shared_ptr<const ReductionFacts> reduction(const std::string& name) const {
    if (name == "Sum") return reduction_facts<Sum>();
    if (name == "Max") return reduction_facts<Max>();
    if (name == "LogSumExp") return reduction_facts<LogSumExp>();
    fail("Sum, Max or LogSumExp", name);
  }

  int read_node() {
    const std::string& what = word(1, "a kind of node");
    if (what == "accumulator") {
      const double which = number(2);
      if (which != 0 && which + 1 != result_.graph.program.accumulators)
        fail("an accumulator that the program has", words_[2]);
      return builder_.accumulator(static_cast<int>(which));
    }
    if (what == "load") return read_load();
    if (what == "constant") return builder_.constant(number(2));
    if (what == "integer") return builder_.constant(integer(2), Element::kInteger);
    if (what == "row") return builder_.row();
    if (what == "column") return builder_.column();
    const Function function = function_of(what.c_str());
    const auto count = static_cast<size_t>(facts_of(function).operands);
    if (words_.size() != count + 2) {
      fail(fmt::format("{} operands of {}", count, what), fmt::format("{}", words_.size() - 2));
    }
    std::array<int, 3> operand{-1, -1, -1};
    for (size_t i = 0; i < count; ++i) operand.at(i) = place(2 + i);
    const auto element = [&](size_t i) { return builder_.node(operand.at(i)).element; };
    const Element number = element(function == Function::kSelect ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      const Element expected = operand_element(function, static_cast<int>(i), number);
      if (element(i) == expected) continue;
      fail(fmt::format("{} as operand {} of {}", described(expected), i + 1, what),
           fmt::format("{}, node {}", described(element(i)), words_[2 + i]));
    }
    const int result = builder_.apply(function, operand[0], operand[1], operand[2]);
    check_integer(builder_.node(result));
    return result;
  }

  // C++ takes a plain number beside fragments for a float where none of them is of integers.
  void check_integer(const Node& node) const {
    if (node.kind != NodeKind::kApply || node.element != Element::kInteger) return;
    for (int i = node.function == Function::kSelect ? 1 : 0; i < node.operands(); ++i) {
      const int operand = node.operand[static_cast<size_t>(i)];
      if (builder_.node(operand).kind != NodeKind::kConstant) return;
    }
    fail("an integer of 32 bits, or one that is not of constants alone",
         fmt::format("'{}'", fmt::join(words_, " ")));
  }

  int read_load() {
    const int port = result_.graph.port(word(2, "a port"));
    const PortView& view = result_.graph.program.ports[static_cast<size_t>(port)];
    const Space space = view.kind == PortKind::kPerElement  ? Space::kElement
                        : view.kind == PortKind::kPerRow    ? Space::kRow
                        : view.kind == PortKind::kPerColumn ? Space::kColumn
                                                            : Space::kScalar;
    if (!is_input(view.kind)) fail("a port that is read", view.name + ", an output");
    return builder_.load(port, 0, space,
                         is_integer(view.dtype) ? Element::kInteger : Element::kFloat);
  }

  void read_output() {
    Graph& graph = result_.graph;
    const int port = graph.port(word(1, "a port"));
    const PortView& view = graph.program.ports[static_cast<size_t>(port)];
    if (is_input(view.kind)) fail("a port that is written", view.name + ", an input");
    if (graph.segments.empty()) graph.segments.emplace_back();
    for (const Output& before : graph.segments[0]) {
      if (before.port == port) fail("one output to a port", view.name + " twice");
    }
    const int value = place(2);
    if (builder_.node(value).element != Element::kFloat) fail("a float to write", view.name);
    Output output{port, {value}, nullptr};
    if (view.kind != PortKind::kStore) {
      const std::string& type = graph.facts[static_cast<size_t>(port)].reduction->type;
      output.lift = type == "coda::Sum"   ? lift_facts<Sum, 1>()
                    : type == "coda::Max" ? lift_facts<Max, 1>()
                                          : lift_facts<LogSumExp, 1>();
    }
    graph.segments[0].push_back(std::move(output));
  }

  ReadGraph result_;
  Builder builder_{result_.graph.nodes};
  std::vector<int> places_;  // of the text's nodes among the graph's
  std::vector<std::string> words_;
  int line_ = 0;
};

void check_ports(const Graph& graph) {
  for (size_t i = 0; i < graph.program.ports.size(); ++i) {
    const PortView& port = graph.program.ports[i];
    refuse_taken_gradient(port.name);
    const bool written =
        !graph.segments.empty() &&
        std::ranges::count(graph.segments[0], static_cast<int>(i), &Output::port) > 0;
    if (is_input(port.kind) || written) continue;
    throw Error(fmt::format("{}: never writes to '{}'", graph.program.name, port.name));
  }
  if (graph.segments.empty()) {
    throw Error(fmt::format("{}: expected an output at least, got none", graph.program.name));
  }
}

}  // namespace

ReadGraph read_graph(const std::string& text) {
  ReadGraph result = Reader().read(text);
  check_ports(result.graph);
  return result;
}

}  // namespace coda::trace
