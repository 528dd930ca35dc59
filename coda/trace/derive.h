// The vector-Jacobian product of a program, as a program of the same form: from the gradients of
// its outputs those of its accumulators (stored) and of its ports, by their kind: per element a
// store, per row a row reduction, per column a column reduction, of a number a row reduction to
// be summed whole. It runs in the epilogue of the GEMM that gives one of the incoming gradients,
// or of the forward GEMM run again. Host only.
#pragma once
#include <optional>

#include "coda/trace/graph.h"

namespace coda::trace {

struct DeriveOptions {
  // Which incoming gradient arrives as the accumulator: "dout" of a Store port out; "forward":
  // none, the accumulators are the forward program's again. Empty: of the last Store port that is
  // not optional, else "forward".
  std::string accumulator = {};
  // Outputs that have an incoming gradient; none named: those that are not optional.
  std::vector<std::string> outputs = {};
  // Inputs whose gradient is wanted besides the accumulators'; none named: all but scalars and
  // what is looked up or the same for every head; "-": no other.
  std::vector<std::string> gradients = {};
  // Store ports of the forward program that may be read back; none named: all that are given; "-":
  // none.
  std::vector<std::string> saved = {};
  // Elements of the forward program's operands, which those of the GEMMs for dX and dW are too.
  // Left out: those of its last Store port.
  std::optional<DType> operand = {};
};

// A value of the forward program that the derived one reads, and how it comes by it.
struct SavedValue {
  std::string port;     // of the derived program
  bool stored = false;  // by the forward program as it is; else it has to be made to store it
  int64_t element_bytes = 2;
  bool paired = false;
};

struct Derived {
  Graph graph;
  std::vector<SavedValue> saved;
  std::string accumulator;  // what it is: "dout", or "forward"
};

// Throws coda::Error for a name that the program does not have, a reduction without pull_back, and
// a program of more than 16 ports.
Derived derive(const Graph& forward, const DeriveOptions& options = {});

}  // namespace coda::trace
