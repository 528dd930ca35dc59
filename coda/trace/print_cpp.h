// A graph as the C++ of a program: a struct of ports with names and operator(). Host only.
#pragma once
#include <map>

#include "coda/trace/graph.h"

namespace coda::trace {

struct PrintOptions {
  std::string type;                             // of the struct
  std::string head;                             // comment above it, lines without the slashes
  std::map<std::string, std::string> comments;  // of ports, after their shapes
};

std::string print_cpp(const Graph& graph, const PrintOptions& options);

// The same as a formula, a line for every output and every value that several take.
std::string print_formula(const Graph& graph);

std::string camel_case(const std::string& name);  // "linear_swiglu" → "LinearSwiglu"

}  // namespace coda::trace
