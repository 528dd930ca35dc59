#include "coda/trace/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "coda/core/error.h"

namespace coda::trace {
namespace {

constexpr FunctionFacts kFunctions[] = {{"+", "Add", 2, false},
                                        {"-", "Subtract", 2, false},
                                        {"*", "Multiply", 2, false},
                                        {"/", "Divide", 2, false},
                                        {"-", "Negate", 1, false},
                                        {"abs", "Abs", 1, false},
                                        {"sqrt", "Sqrt", 1, false},
                                        {"rsqrt", "Rsqrt", 1, false},
                                        {"exp", "Exp", 1, false},
                                        {"log", "Log", 1, false},
                                        {"tanh", "Tanh", 1, false},
                                        {"erf", "Erf", 1, false},
                                        {"floor", "Floor", 1, false},
                                        {"min", "Min", 2, false},
                                        {"max", "Max", 2, false},
                                        {"<", "Less", 2, true},
                                        {"<=", "LessEqual", 2, true},
                                        {"==", "Equal", 2, true},
                                        {"!=", "NotEqual", 2, true},
                                        {"&&", "And", 2, true},
                                        {"||", "Or", 2, true},
                                        {"!", "Not", 1, true},
                                        {"fma", "Fma", 3, false},
                                        {"select", "Select", 3, false},
                                        {"to_float", "ToFloat", 1, false},
                                        {"cos", "TurnCosine", 2, false},
                                        {"sin", "TurnSine", 2, false},
                                        {"sigmoid", nullptr, 1, false},
                                        {"relu", nullptr, 1, false}};
static_assert(std::size(kFunctions) == static_cast<size_t>(Function::kRelu) + 1);

}  // namespace

const FunctionFacts& facts_of(Function function) {
  return kFunctions[static_cast<size_t>(function)];
}

Function function_of(const char* operation) {
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    const char* name = kFunctions[i].operation;
    if (name != nullptr && std::strcmp(name, operation) == 0) return static_cast<Function>(i);
  }
  throw Error(fmt::format("trace: a graph has no function for the operation {}", operation));
}

const char* described(Element element) {
  switch (element) {
    case Element::kFloat: return "a float";
    case Element::kInteger: return "an integer";
    case Element::kMask: return "a mask";
  }
  return "";
}

Element operand_element(Function function, int i, Element number) {
  switch (function) {
    case Function::kAnd:
    case Function::kOr:
    case Function::kNot: return Element::kMask;
    case Function::kToFloat: return Element::kInteger;
    case Function::kSelect:
      if (i == 0) return Element::kMask;
      [[fallthrough]];
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
    case Function::kNegate:
    case Function::kAbs:
    case Function::kMin:
    case Function::kMax:
    case Function::kLess:
    case Function::kLessEqual:
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kFma: return number == Element::kMask ? Element::kFloat : number;
    default: return Element::kFloat;
  }
}

double compute(Function function, const double* x) {
  const double a = x[0];
  switch (function) {
    case Function::kAdd: return a + x[1];
    case Function::kSubtract: return a - x[1];
    case Function::kMultiply: return a * x[1];
    case Function::kDivide: return a / x[1];
    case Function::kNegate: return -a;
    case Function::kAbs: return std::fabs(a);
    case Function::kSqrt: return std::sqrt(a);
    case Function::kRsqrt: return 1 / std::sqrt(a);
    case Function::kExp: return std::exp(a);
    case Function::kLog: return std::log(a);
    case Function::kTanh: return std::tanh(a);
    case Function::kErf: return std::erf(a);
    case Function::kFloor: return std::floor(a);
    case Function::kMin: return x[1] < a || std::isnan(x[1]) ? x[1] : a;
    case Function::kMax: return a < x[1] || std::isnan(x[1]) ? x[1] : a;
    case Function::kLess: return a < x[1] ? 1 : 0;
    case Function::kLessEqual: return a <= x[1] ? 1 : 0;
    case Function::kEqual: return a == x[1] ? 1 : 0;
    case Function::kNotEqual: return a != x[1] ? 1 : 0;
    case Function::kAnd: return a != 0 && x[1] != 0 ? 1 : 0;
    case Function::kOr: return a != 0 || x[1] != 0 ? 1 : 0;
    case Function::kNot: return a == 0 ? 1 : 0;
    case Function::kFma: return std::fma(a, x[1], x[2]);
    case Function::kSelect: return a != 0 ? x[1] : x[2];
    case Function::kToFloat: return a;
    case Function::kCosine: return std::cos(a * x[1]);
    case Function::kSine: return std::sin(a * x[1]);
    case Function::kSigmoid: return 1 / (1 + std::exp(-a));
    case Function::kRelu: return a < 0 ? 0 : a;
  }
  return 0;
}

int Node::operands() const {
  switch (kind) {
    case NodeKind::kApply: return facts_of(function).operands;
    case NodeKind::kLookup:
    case NodeKind::kGroupSum: return 1;
    default: return 0;
  }
}

int Graph::port(const std::string& name) const {
  std::vector<std::string> known;
  for (size_t i = 0; i < program.ports.size(); ++i) {
    if (program.ports[i].name == name) return static_cast<int>(i);
    known.push_back(program.ports[i].name);
  }
  throw Error(
      fmt::format("{} has no port '{}'; it has {}", program.name, name, fmt::join(known, ", ")));
}

}  // namespace coda::trace
