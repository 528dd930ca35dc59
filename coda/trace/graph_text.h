// A graph from text, for programs that are traced in another language. A line is a list of words:
//   program NAME OPERAND ACCUMULATORS        program gated bf16 1
//   port KIND NAME ELEMENT                   port PerRow scale fp32
//   port KIND NAME REDUCTION                 port RowReduce norm Sum
//   node accumulator WHICH | load PORT | constant NUMBER | integer NUMBER | row | column
//   node OPERATION PLACE...                  node Multiply 0 1
//   output PORT PLACE                        output norm 7
// KIND: PerElement, PerRow, PerColumn, Scalar, Store, RowReduce, ColumnReduce. REDUCTION: Sum, Max,
// LogSumExp. OPERATION: of program/operation.h, of operands as its kernels take them. PLACE: of a
// node before. ELEMENT: bf16, fp16 or fp32, of a PerRow also int32 or int64, of a Scalar fp32.
// Numbers are decimal in every locale. Host only.
#pragma once
#include "coda/trace/graph.h"

namespace coda::trace {

struct ReadGraph {
  Graph graph;
  DType operand = DType::kBf16;  // of A and B
};

// Throws coda::Error that names the line, what was expected and what stands there.
ReadGraph read_graph(const std::string& text);

}  // namespace coda::trace
