#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "coda/terminal/table.h"
#include "coda/tools/bench.h"

namespace coda::tools {
namespace {

class Mean {
 public:
  void add(double value) {
    logarithms_ += std::log(value);
    least_ = std::min(least_, value);
    ++count_;
  }
  double value() const { return std::exp(logarithms_ / std::max(count_, 1)); }
  std::string text() const { return count_ == 0 ? "-" : fmt::format("{:.3f}", value()); }
  std::string with_least() const {
    return count_ == 0 ? "-" : fmt::format("{:.3f} ({:.3f})", value(), least_);
  }

 private:
  double logarithms_ = 0, least_ = 1e30;
  int count_ = 0;
};

// The chosen and the fastest configuration at one shape in one regime.
struct Speedups {
  double chosen = 0, best = 0;
  double over_usual = 0;  // of the chosen one
};

std::string shape_text(const BenchResult& r) {
  return fmt::format("{}x{}x{}", r.shape.M, r.shape.N, r.shape.K);
}

std::string operation_text(const BenchResult& r) {
  const std::string ports = r.ports.empty() ? "" : fmt::format(" +{}", fmt::join(r.ports, "+"));
  return fmt::format("{} {} {}{}", r.operation, r.variant, r.layout, ports);
}

}  // namespace

std::string bench_shapes(std::span<const BenchResult> results) {
  std::vector<std::string> names, shapes;  // in the order in which they were measured
  std::map<std::string, std::map<std::string, std::string>> speedups;  // by name and shape
  for (const BenchResult& r : results) {
    if (!r.chosen) continue;
    const std::string name = fmt::format("{} {}", operation_text(r), r.regime);
    const std::string shape = shape_text(r);
    if (!speedups.contains(name)) names.push_back(name);
    if (std::ranges::count(shapes, shape) == 0) shapes.push_back(shape);
    speedups[name][shape] = fmt::format("{:.3f}", r.speedup());
  }
  std::vector<terminal::Table::Column> columns{{"chosen"}};
  for (const std::string& shape : shapes) columns.push_back({shape, true});
  terminal::Table table(columns);
  for (const std::string& name : names) {
    std::vector<std::string> row{name};
    for (const std::string& shape : shapes) {  // not every operation is measured at every shape
      const auto found = speedups[name].find(shape);
      row.push_back(found == speedups[name].end() ? "-" : found->second);
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string bench_means(std::span<const BenchResult> results) {
  using ByShape = std::map<std::string, Speedups>;
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, ByShape>> operations;  // operation, regime, shape
  for (const BenchResult& r : results) {
    const std::string name = operation_text(r);
    if (!operations.contains(name)) order.push_back(name);
    Speedups& speedups = operations[name][r.regime][shape_text(r)];
    speedups.best = std::max(speedups.best, r.speedup());
    if (r.chosen) {
      speedups.chosen = r.speedup();
      speedups.over_usual = r.usual_ms / r.ms;
    }
  }
  terminal::Table table({{"over the baseline"},
                         {"random (least)", true},
                         {"best", true},
                         {"zeros (least)", true},
                         {"best", true},
                         {"both (least)", true},
                         {"choice", true},
                         {"over cublasGemmEx", true}});
  for (const std::string& name : order) {
    std::vector<std::string> row{name};
    Mean both, choice, over_usual;
    std::map<std::string, double> product;  // over the regimes, of a shape
    for (const char* regime : {"random", "zeros"}) {
      Mean chosen, best;
      for (const auto& [shape, speedups] : operations[name][regime]) {
        chosen.add(speedups.chosen);
        best.add(speedups.best);
        choice.add(speedups.chosen / speedups.best);
        over_usual.add(speedups.over_usual);
        product.try_emplace(shape, 1.0).first->second *= speedups.chosen;
      }
      row.push_back(chosen.with_least());
      row.push_back(best.text());
    }
    const double regimes = operations[name]["zeros"].empty() ? 1 : 2;
    for (const auto& [shape, value] : product) both.add(std::pow(value, 1 / regimes));
    row.push_back(both.with_least());
    row.push_back(choice.text());
    row.push_back(over_usual.text());
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace coda::tools
