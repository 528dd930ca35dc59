#include "coda/tools/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "coda/core/error.h"
#include "coda/terminal/table.h"

namespace coda::tools {
namespace {

using kernel::OperandMajor;

constexpr double kScatter = 1.01;  // of the medians of one kernel, measured again

// The times of one configuration.
struct Times {
  double logarithms = 0;
  int regimes = 0;

  double mean() const { return std::exp(logarithms / regimes); }
};

// All configurations of one choice.
struct Group {
  const BenchResult* predicted = nullptr;
  std::map<std::string, Times> configs;
};

std::string name_of(const BenchResult& r) {
  return fmt::format("{} {} {} {} {}x{}x{}", r.operation, r.variant, r.layout,
                     fmt::join(r.ports, "+"), r.shape.M, r.shape.N, r.shape.K);
}

std::string key_of(const BenchResult& r, const plan::Device& device) {
  const catalogue::Variant& variant =
      catalogue::find_variant(catalogue::find_operation(r.operation), r.variant);
  ProgramView program = variant.program;
  for (PortView& port : program.ports) {
    port.given = port.given || std::ranges::count(r.ports, port.name) > 0;
  }
  const auto a = r.layout == "dW" ? OperandMajor::kRows : OperandMajor::kContraction;
  const auto b = r.layout == "forward" ? OperandMajor::kContraction : OperandMajor::kRows;
  return plan::tuning_key(device, program, variant.operand, a, b, r.shape.M, r.shape.N, r.shape.K);
}

TunedChoice choose_fastest(const Group& group, const plan::Device& device) {
  const BenchResult& predicted = *group.predicted;
  TunedChoice choice{predicted, predicted.config, 1, key_of(predicted, device)};
  const double predicted_ms = group.configs.at(predicted.config).mean();
  double least = predicted_ms / kScatter;
  for (const auto& [config, times] : group.configs) {
    if (times.mean() >= least) continue;
    least = times.mean();
    choice.config = config;
    choice.speedup = predicted_ms / least;
  }
  return choice;
}

}  // namespace

std::vector<TunedChoice> tuned_choices(std::span<const BenchResult> results,
                                       const plan::Device& device) {
  std::vector<Group> groups;  // in the order of the results
  std::map<std::string, size_t> group_of;
  for (const BenchResult& r : results) {
    if (r.slices != 1) continue;
    const auto [found, first] = group_of.try_emplace(name_of(r), groups.size());
    if (first) groups.emplace_back();
    Group& group = groups[found->second];
    Times& times = group.configs[r.config];
    times.logarithms += std::log(r.ms);
    ++times.regimes;
    if (r.chosen_whole) group.predicted = &r;
  }
  std::vector<TunedChoice> choices;
  for (const Group& group : groups) {
    if (group.predicted == nullptr) throw Error("tune: the predicted kernel was not measured");
    choices.push_back(choose_fastest(group, device));
  }
  return choices;
}

plan::TuningCache tuning_of(std::span<const TunedChoice> choices) {
  plan::TuningCache cache;
  for (const TunedChoice& choice : choices) cache.set(choice.key, choice.config);
  return cache;
}

std::string tune_table(std::span<const TunedChoice> choices) {
  terminal::Table table({{"operation"},
                         {"M", true},
                         {"N", true},
                         {"K", true},
                         {"predicted"},
                         {"tuned"},
                         {"speedup", true}});
  for (const TunedChoice& choice : choices) {
    const BenchResult& r = choice.measured;
    const std::string ports = r.ports.empty() ? "" : fmt::format(" +{}", fmt::join(r.ports, "+"));
    table.add({fmt::format("{} {} {}{}", r.operation, r.variant, r.layout, ports),
               fmt::format("{}", r.shape.M), fmt::format("{}", r.shape.N),
               fmt::format("{}", r.shape.K), r.config,
               choice.config == r.config ? "as predicted" : choice.config,
               fmt::format("{:.3f}", choice.speedup)});
  }
  return table.text();
}

}  // namespace coda::tools
