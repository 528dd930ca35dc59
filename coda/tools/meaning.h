// What the outputs of a case have to be: by the operation's formula or, where an author has written
// none, by the program's own graph.
#pragma once
#include <optional>
#include <string>

#include "coda/core/error.h"
#include "coda/tools/check_case.h"
#include "coda/trace/graph.h"

namespace coda::tools {

// A formula that threw, with its file.
class FormulaFailure : public Error {
 public:
  using Error::Error;
};

class Meaning {
 public:
  Meaning(const catalogue::Operation& operation, const catalogue::Variant& variant, const Case& c);

  // Throws FormulaFailure.
  reference::Arrays exact(const reference::Arrays& in) const;  // fp64
  reference::Arrays unfused(const reference::Arrays& in, const reference::Rounding& rounding) const;

  // Of an author's formula and the program's graph, both in fp64: the first output in which they
  // differ, or nothing.
  std::string disagreement(const reference::Arrays& in) const;

 private:
  reference::Arrays evaluate(const reference::Arrays& in, const reference::Rounding& round) const;

  std::string formula_file_;
  reference::Formula formula_;
  std::optional<trace::Graph> graph_;  // of an author's program
};

// Where two results in fp64 differ by more than `allowed` of the largest value (at least 1).
std::string difference(const reference::Array& program, const reference::Array& formula,
                       double allowed);

}  // namespace coda::tools
