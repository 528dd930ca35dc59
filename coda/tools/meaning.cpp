#include "coda/tools/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "coda/trace/evaluate.h"

namespace coda::tools {
namespace {

// Constants of a program are fp32 numbers, off by up to 2^-25 of themselves, which the functions
// behind them carry on by factors of a few.
constexpr double kAllowed = 0x1p-20;

}  // namespace

Meaning::Meaning(const catalogue::Operation& operation, const catalogue::Variant& variant,
                 const Case& c)
    : formula_file_(operation.name + (operation.file.empty() ? "_reference.h" : "_formula.h")),
      formula_(operation.reference) {
  if (!operation.file.empty()) graph_ = variant.trace({c.given, c.numbers});
}

reference::Arrays Meaning::evaluate(const reference::Arrays& in,
                                    const reference::Rounding& round) const {
  try {
    return formula_(in, round);
  } catch (const std::exception& error) {
    throw FormulaFailure(fmt::format("{}: {}", formula_file_, error.what()));
  }
}

reference::Arrays Meaning::exact(const reference::Arrays& in) const {
  return formula_ != nullptr ? evaluate(in, {}) : trace::evaluate(*graph_, in);
}

reference::Arrays Meaning::unfused(const reference::Arrays& in,
                                   const reference::Rounding& rounding) const {
  return formula_ != nullptr ? evaluate(in, rounding) : trace::evaluate(*graph_, in, &rounding);
}

std::string Meaning::disagreement(const reference::Arrays& in) const {
  if (formula_ == nullptr || !graph_) return "";
  const reference::Arrays expected = evaluate(in, {});
  for (const auto& [name, array] : trace::evaluate(*graph_, in)) {
    const auto found = expected.find(name);
    if (found == expected.end()) {
      return fmt::format("{}: the formula lacks it; it returns {}", name,
                         fmt::join(std::views::keys(expected), ", "));
    }
    const std::string text = difference(array, found->second, kAllowed);
    if (!text.empty()) return name + text;
  }
  return "";
}

std::string difference(const reference::Array& program, const reference::Array& formula,
                       double allowed) {
  if (program.rows != formula.rows || program.columns != formula.columns) {
    return fmt::format(": the program gives [{}, {}], the formula [{}, {}]", program.rows,
                       program.columns, formula.rows, formula.columns);
  }
  double largest = 1;
  for (const double x : formula.values) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
  for (int64_t i = 0; i < program.rows; ++i) {
    for (int64_t j = 0; j < program.columns; ++j) {
      const double a = program(i, j), b = formula(i, j);
      const bool same =
          a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed * largest;
      if (same) continue;
      return fmt::format("[{}, {}]: in fp64 the program means {}, the formula {}", i, j, a, b);
    }
  }
  return "";
}

}  // namespace coda::tools
