// The statements of a graph's operator(), as C++ or as a formula. Host only.
#pragma once
#include <map>
#include <set>

#include "coda/trace/graph.h"

namespace coda::trace {

// A C++ literal of a float, or of an integer or mask.
std::string literal(double value, Element element);

enum class Style {
  kCode,     // of an operator()
  kFormula,  // as one writes it down: ports by name, A·Bᵀ for the accumulator
};

inline constexpr int kPrimaryLevel = 9;  // of names, numbers and calls

class BodyPrinter {
 public:
  explicit BodyPrinter(const Graph& graph, Style style = Style::kCode);
  std::string print();  // lines indented by four

 private:
  struct Text {
    std::string text;
    int level = 0;  // of its outermost operator; larger binds tighter
  };
  using Scope = std::map<std::string, std::string>;  // what was named, by what it is

  void count_uses();
  void find_late();
  void print_nodes(int segment, int indent);
  void print_outputs(const std::vector<Output>& outputs, int indent);
  Text expression(int node, int indent);
  Text formula_leaf(const Node& node) const;
  Text applied(const Node& node) const;
  std::string operand(int node, int least) const;
  std::string grouped(const std::string& what, const std::string& base, int indent);
  bool taken(const std::string& name) const;
  std::string fresh(const std::string& base);
  std::string name_for(const Node& node);
  void line(int indent, const std::string& text);

  const Graph& graph_;
  Style style_;
  std::vector<int> uses_;     // of each node, by nodes and outputs
  std::vector<int> segment_;  // -1: several; -2: none
  std::vector<bool> late_;    // of each node: needed only after something was stored
  std::vector<Text> texts_;
  std::set<std::string> taken_;
  Scope whole_, inner_;
  bool inside_ = false;
  std::string result_;
};

}  // namespace coda::trace
