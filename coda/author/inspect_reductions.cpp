#include "coda/author/inspect_reductions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "coda/core/error.h"
#include "coda/trace/evaluate_reduction.h"

namespace coda::author {
namespace {

using State = std::vector<double>;

constexpr double kTried[] = {-3, 0.5, 2, 7.25, 2};  // the same twice, at two places
constexpr double kAllowed = 1e-5;  // of rounded constants, and of functions that cancel

bool is_finite(const State& state) {
  return std::ranges::all_of(state, [](double x) { return std::isfinite(x); });
}

bool alike(const State& a, const State& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double allowed = kAllowed * (1 + std::fabs(a[i]) + std::fabs(b[i]));
    if (!(std::fabs(a[i] - b[i]) <= allowed) || std::isinf(allowed)) return false;
  }
  return true;
}

std::string text_of(const State& state) {
  return state.size() == 1 ? fmt::format("{}", state[0])
                           : fmt::format("{{{}}}", fmt::join(state, ", "));
}

// The states of numbers beside their places, as a program may give them: (x), or (x, column).
std::vector<State> lifted(const trace::LiftFacts& lift) {
  std::vector<State> result;
  for (size_t i = 0; i < std::size(kTried); ++i) {
    std::vector<double> arguments{kTried[i], static_cast<double>(i)};
    arguments.resize(static_cast<size_t>(lift.arguments));
    State state = trace::evaluate(lift.lift, arguments);
    if (is_finite(state)) result.push_back(std::move(state));  // else it takes other numbers
  }
  return result;
}

void try_reduction(const std::string& where, const trace::ReductionFacts& reduction,
                   const trace::LiftFacts& lift) {
  const auto combine = [&](const State& a, const State& b) {
    return trace::combined(reduction, a, b);
  };
  const auto expect = [&](const State& got, const State& want, const std::string& what) {
    if (alike(got, want)) return;
    throw Error(
        fmt::format("{}: {} gives {}, expected {}: states are combined in any order, and "
                    "with the identity where there are no more columns or rows",
                    where, what, text_of(got), text_of(want)));
  };
  const State& identity = reduction.identity;
  const std::vector<State> states = lifted(lift);
  expect(combine(identity, identity), identity, "combine(identity(), identity())");
  for (const State& a : states) {
    expect(combine(identity, a), a, fmt::format("combine(identity(), {})", text_of(a)));
    expect(combine(a, identity), a, fmt::format("combine({}, identity())", text_of(a)));
    for (const State& b : states) {
      expect(combine(b, a), combine(a, b),
             fmt::format("with a = {} and b = {}, combine(b, a) is not combine(a, b): it",
                         text_of(a), text_of(b)));
    }
  }
  for (const State& a : states) {
    for (const State& b : states) {
      for (const State& c : states) {
        expect(combine(a, combine(b, c)), combine(combine(a, b), c),
               fmt::format("with a = {}, b = {} and c = {}, combine(a, combine(b, c)) is not "
                           "combine(combine(a, b), c): it",
                           text_of(a), text_of(b), text_of(c)));
      }
    }
  }
}

}  // namespace

void inspect_reductions(const trace::Graph& graph) {
  for (const std::vector<trace::Output>& outputs : graph.segments) {
    for (const trace::Output& output : outputs) {
      if (output.lift == nullptr) continue;
      const auto port = static_cast<size_t>(output.port);
      const trace::ReductionFacts& reduction = *graph.facts[port].reduction;
      try_reduction(fmt::format("{}: the reduction {} of '{}'", graph.program.name, reduction.type,
                                graph.program.ports[port].name),
                    reduction, *output.lift);
    }
  }
}

}  // namespace coda::author
