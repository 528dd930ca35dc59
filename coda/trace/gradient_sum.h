// Adds up what flows back into a value: factors that all terms share are taken out, so that
// d·u·s + d·u·g·s·(1 − s) reads d·u·s·(1 + g·(1 − s)). Host only.
#pragma once
#include <set>

#include "coda/trace/builder.h"

namespace coda::trace {

class GradientSum {
 public:
  explicit GradientSum(Builder& builder) : builder_(builder) {}

  // A value that has a meaning of its own stays in one piece.
  void keep_whole(int node) { whole_.insert(node); }

  int sum(const std::vector<int>& terms);

 private:
  struct Term {
    double coefficient = 1;
    std::vector<int> factors, divisors;
  };
  void flatten(int node, bool divides, Term& term) const;
  int product(const Term& term);

  Builder& builder_;
  std::set<int> whole_;
};

}  // namespace coda::trace
