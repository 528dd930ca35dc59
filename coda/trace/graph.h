// A program as a graph: what its operator()(Tile&) does to one element, as nodes over the
// accumulators, ports and indices, and what it stores and reduces. tile.h makes one of a program in
// C++ (run.h: trace::run(program)); builder.h makes one by hand. Host only.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coda/program/describe.h"

namespace coda::trace {

enum class Element { kFloat, kInteger, kMask };
const char* described(Element element);  // "a float"

// The operations of program/operation.h, and of program/math.h those that have a derivative of
// their own: sigmoid and relu, which recognise() finds.
enum class Function {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kAbs,
  kSqrt,
  kRsqrt,
  kExp,
  kLog,
  kTanh,
  kErf,
  kFloor,
  kMin,
  kMax,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kFma,
  kSelect,
  kToFloat,
  kCosine,  // of position·frequency, as rotation() gives it
  kSine,
  kSigmoid,
  kRelu,
};

struct FunctionFacts {
  const char* name;       // as a program writes it: "+", "exp"
  const char* operation;  // in program/operation.h; nullptr: of no single one
  int operands;
  bool comparison;  // gives a mask
};
const FunctionFacts& facts_of(Function function);
// What operand i has to be. number: what the first of the operands is that have to be alike.
Element operand_element(Function function, int i, Element number);
Function function_of(const char* operation);
double compute(Function function, const double* operands);  // in fp64; a mask is 0 or 1

enum class NodeKind {
  kConstant,
  kAccumulator,
  kLoad,      // of a port; for a Paired one member says which half
  kLookup,    // of a PairTable in the row that operand 0 says; member: which table
  kRow,       // index within the segment
  kColumn,    // index within the segment
  kHeadDim,   // the width of a head
  kApply,     // of a function
  kGroupSum,  // of operand 0 over the columns of a head
  kArgument,  // of a reduction's own graph: the member-th number
};

struct Node {
  NodeKind kind = NodeKind::kConstant;
  Function function = Function::kAdd;
  Element element = Element::kFloat;
  Space space = Space::kScalar;
  int port = -1;     // place in the program
  int member = 0;    // which accumulator, half, table or argument
  double value = 0;  // of a constant
  std::array<int, 3> operand = {-1, -1, -1};

  int operands() const;
  bool operator==(const Node&) const = default;
};

// A function of several numbers with several results, such as a reduction's combine.
struct Subgraph {
  std::vector<Node> nodes;
  std::vector<int> results;
};

// What a RowReduce or ColumnReduce does. States are lists of numbers.
struct ReductionFacts {
  std::string type;  // as C++ writes it: "coda::Sum"
  int members = 1;
  std::vector<double> identity;
  Subgraph combine;                 // of two states: 2·members arguments
  std::vector<std::string> values;  // what a row is finished to, where it is more than one number
};

// What a reduction makes of as many arguments as a program gives it.
struct LiftFacts {
  int arguments = 1;
  Subgraph lift;  // their state
  // Of the arguments, the values that the whole is finished to and their gradients: the gradients
  // of the arguments. Without results the reduction does not say.
  Subgraph pull_back;
};

// How a PerRowFrom finishes partials.
struct FinishFacts {
  std::string type;  // "coda::ReciprocalRms"
  ReductionFacts reduction;
  bool never_zero = false;
  std::function<double(const std::vector<double>&)> finish;  // of a state
  std::vector<std::pair<std::string, double>> parameters;    // of this instance: ("width", 4096)
};

struct PortFacts {
  double number = 0;        // of a scalar: its value in this instance
  std::string choice_type;  // of a Choice: its enum as C++ writes it
  std::shared_ptr<const ReductionFacts> reduction;
  std::shared_ptr<const FinishFacts> finish;
};

struct Output {
  int port = -1;
  std::vector<int> values;  // of a store one, of a Paired one both halves; of a reduction all
  std::shared_ptr<const LiftFacts> lift;  // of a reduction
};

struct Graph {
  ProgramView program;           // ports as they are given
  std::vector<PortFacts> facts;  // of each port
  std::vector<Node> nodes;       // operands stand before those who use them
  // What is stored and reduced, in order; of a program that asks for tile.segment() and does not do
  // the same everywhere, one list for each segment.
  std::vector<std::vector<Output>> segments;
  int group_sums = 0;  // calls in one run over a tile

  int port(const std::string& name) const;  // place; throws coda::Error
};

}  // namespace coda::trace
