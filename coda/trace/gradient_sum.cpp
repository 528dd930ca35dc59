#include "coda/trace/gradient_sum.h"

#include <algorithm>

namespace coda::trace {

void GradientSum::flatten(int i, bool divides, Term& term) const {
  const Node& node = builder_.node(i);
  const bool apply = node.kind == NodeKind::kApply && !whole_.contains(i);
  if (apply && node.function == Function::kMultiply) {
    flatten(node.operand[0], divides, term);
    flatten(node.operand[1], divides, term);
  } else if (apply && node.function == Function::kNegate) {
    term.coefficient = -term.coefficient;
    flatten(node.operand[0], divides, term);
  } else if (apply && node.function == Function::kDivide && !divides) {
    flatten(node.operand[0], false, term);
    term.divisors.push_back(node.operand[1]);
  } else if (node.kind == NodeKind::kConstant && !divides && node.value != 0) {
    term.coefficient *= node.value;
  } else {
    (divides ? term.divisors : term.factors).push_back(i);
  }
}

int GradientSum::product(const Term& term) {
  int result = -1;
  for (const int factor : term.factors) {
    result = result < 0 ? factor : builder_.multiply(result, factor);
  }
  if (result < 0) {
    result = builder_.constant(term.coefficient);
  } else {
    result = builder_.multiply(builder_.constant(term.coefficient), result);
  }
  for (const int divisor : term.divisors) result = builder_.divide(result, divisor);
  return result;
}

int GradientSum::sum(const std::vector<int>& nodes) {
  if (nodes.size() == 1) return nodes[0];
  std::vector<Term> terms;
  for (const int node : nodes) {
    Term term;
    flatten(node, false, term);
    const auto alike = std::ranges::find_if(terms, [&](const Term& other) {
      return std::ranges::is_permutation(other.factors, term.factors) &&
             std::ranges::is_permutation(other.divisors, term.divisors);
    });
    if (alike == terms.end()) {
      terms.push_back(std::move(term));
    } else {
      alike->coefficient += term.coefficient;
    }
  }
  if (terms.size() == 1) return product(terms[0]);
  Term shared;
  const auto take_out = [&](std::vector<int> Term::* list) {
    for (const int factor : std::vector<int>(terms[0].*list)) {
      const auto has = [&](const Term& t) {
        return std::ranges::find(t.*list, factor) != (t.*list).end();
      };
      if (!std::ranges::all_of(terms, has)) continue;
      (shared.*list).push_back(factor);
      for (Term& term : terms) (term.*list).erase(std::ranges::find(term.*list, factor));
    }
  };
  take_out(&Term::factors);
  take_out(&Term::divisors);
  int result = product(terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) result = builder_.add(result, product(terms[i]));
  if (shared.factors.empty()) {
    for (const int divisor : shared.divisors) result = builder_.divide(result, divisor);
    return result;
  }
  const std::vector<int> divisors = std::exchange(shared.divisors, {});
  result = builder_.multiply(product(shared), result);
  for (const int divisor : divisors) result = builder_.divide(result, divisor);
  return result;
}

}  // namespace coda::trace
