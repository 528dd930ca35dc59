// A problem: a program with its operands, checked as a whole before anything is computed or
// written. Host only.
#pragma once
#include "coda/program/describe.h"

namespace coda {

// Begin of each segment and the end of the last: {0, n0, n0 + n1, ...}.
struct Segments {
  int count = 1;
  int64_t begin[kMaxSegments + 1] = {};
  int64_t size(int i) const { return begin[i + 1] - begin[i]; }
  int64_t total() const { return begin[count]; }
};

struct Problem {
  Segments rows, columns, contraction;  // M, N (per accumulator) and K, with their cuts
  int64_t head_dim = 0;                 // of an operand in halves, else 0
  int64_t M() const { return rows.total(); }
  int64_t N() const { return columns.total(); }
  int64_t K() const { return contraction.total(); }
};

// Partials along one direction: a segment starts a new one.
int64_t partial_count(const Segments& segments, int width);

// Extents that a port of this kind has in this problem, segment i.
struct Extent {
  int64_t rows = 0, columns = 0;
};
Extent expected_extent(const PortView& port, const Problem& problem, int segment);

// Throws coda::Error naming operation, argument, expected and got; otherwise returns the problem's
// extents.
Problem validate(const ProgramView& program, const OperandView& a, const OperandView& b);

}  // namespace coda
