// The simulator's teeth on the real kernels: every wait, arrival, fence, commit, barrier and
// expectation is dropped or weakened, one at a time. What nobody notices has to stand in the table
// of docs/simulator.md, with the reason why it is harmless, and nothing else may stand there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/tools/mutated_kernel.h"

namespace coda::tools {
namespace {

using catalogue::SimulatedProgram;
using catalogue::Variant;

constexpr double kFloor = 0.9;  // of all mutations, that have to be noticed

struct Outcome {
  std::string kernel;
  sim::Mutation mutation;
  std::string how;  // it was noticed; empty: it was not
};

const Variant& variant_of(const char* operation, const char* variant) {
  return find_variant(catalogue::find_operation(operation), variant);
}

// The first kernel with this configuration (a place in kTileConfigs), of those with optional ports
// where there are any.
size_t find_kernel(const Variant& variant, const SimulatedProgram& program, int config) {
  const auto kernels = program.kernels();
  for (const bool bare : {false, true}) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].config == kernel::kTileConfigs[config] && (kernels[i].given == 0) == bare &&
          kernels[i].operand == variant.operand) {
        return i;
      }
    }
  }
  throw Error(fmt::format("{} has no kernel {}", variant.program.name,
                          plan::config_name(kernel::kTileConfigs[config])));
}

// Several tiles for each consumer of the one cluster, the ragged ones among them, so that every
// buffer is used again after every kind of sub-tile.
std::vector<std::unique_ptr<MutatedKernel>> make_kernels() {
  static const SimulatedProgram segmented = catalogue::simulated<Segmented>();
  static const catalogue::Operation operation = segmented_operation(DType::kBf16);
  std::vector<std::unique_ptr<MutatedKernel>> kernels;
  const auto add = [&](const char* name, const Variant& variant, const SimulatedProgram& program,
                       int config, int64_t M, int64_t N) {
    kernels.push_back(std::make_unique<MutatedKernel>(
        MutatedProblem{name, variant, program, find_kernel(variant, program, config), M, N, 100}));
  };
  const auto add_operation = [&](const char* name, const Variant& variant, int config, int64_t N) {
    add(name, variant, *find_simulated(variant), config, 600, N);
  };
  const Variant& weight_grad = variant_of("linear_weight_grad", "bf16-fp32");
  const Variant& swiglu = variant_of("linear_swiglu", "bf16");
  add_operation("linear", variant_of("linear", "bf16"), 1, 212);
  add_operation("residual_norm", variant_of("linear_residual_norm", "kept-bf16"), 1, 212);
  add_operation("swiglu", swiglu, 1, 97);
  add_operation("swiglu_backward", variant_of("linear_swiglu_backward", "bf16"), 9, 212);
  add_operation("swiglu-co", swiglu, 4, 168);
  add_operation("weight_grad", weight_grad, 1, 198);
  add_operation("weight_grad-co", weight_grad, 5, 326);
  add("segmented", operation.variants[0], segmented, 1, 600, 197);
  add("segmented-co", operation.variants[0], segmented, 5, 600, 197);
  return kernels;
}

std::vector<Outcome> try_mutations(std::span<const std::unique_ptr<MutatedKernel>> kernels) {
  std::vector<std::vector<Outcome>> outcomes(kernels.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      for (const sim::Mutation& mutation : kernels[i]->mutations()) {
        outcomes[i].push_back({kernels[i]->name(), mutation, kernels[i]->caught(mutation)});
      }
    }
  };
  {
    const std::jthread other(work);
    work();
  }
  std::vector<Outcome> all;
  for (auto& some : outcomes) std::ranges::move(some, std::back_inserter(all));
  return all;
}

// A site by what changes less than its line: "coda/kernel/consumer.h: run, warp_sync", numbered
// where a function has several of them.
std::string site_name(const sim::Site& site, std::span<const Outcome> outcomes) {
  std::set<std::pair<unsigned, unsigned>> alike;
  for (const Outcome& outcome : outcomes) {
    const sim::Site& other = outcome.mutation.site;
    if (std::tie(other.file, other.function, other.instruction) ==
        std::tie(site.file, site.function, site.instruction)) {
      alike.insert({other.line, other.column});
    }
  }
  const auto before = std::distance(alike.begin(), alike.find({site.line, site.column}));
  const std::string number = alike.size() > 1 ? fmt::format(" {}", before + 1) : "";
  return fmt::format("{}: {}, {}{}", site.file, site.function, site.instruction, number);
}

// Rows "| `site` | mutation | kernels |" of all that nobody noticed.
std::set<std::string> survivor_rows(std::span<const Outcome> outcomes) {
  std::map<std::string, std::vector<std::string>> kernels;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.how.empty()) continue;
    kernels[fmt::format("| `{}` | {} |", site_name(outcome.mutation.site, outcomes),
                        mutation_kind_name(outcome.mutation.kind))]
        .push_back(outcome.kernel);
  }
  std::set<std::string> rows;
  for (const auto& [row, names] : kernels) {
    rows.insert(fmt::format("{} {} |", row, fmt::join(names, ", ")));
  }
  return rows;
}

// The same rows of docs/simulator.md, without the reasons.
std::set<std::string> documented_rows() {
  std::ifstream file(CODA_SOURCE_DIR "/docs/simulator.md");
  EXPECT_TRUE(file.good());
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `coda/")) continue;
    size_t end = 0;
    for (int column = 0; column < 4; ++column) end = line.find('|', end) + 1;
    EXPECT_GT(line.size(), end + 20) << "a reason for " << line;
    rows.insert(line.substr(0, end));
  }
  return rows;
}

std::string difference(const std::set<std::string>& from, const std::set<std::string>& without) {
  std::string text;
  for (const std::string& row : from) {
    if (!without.contains(row)) text += "\n" + row;
  }
  return text;
}

TEST(Mutation, WhatNobodyNoticesIsDocumented) {
  const auto kernels = make_kernels();
  for (const auto& kernel : kernels) EXPECT_TRUE(kernel->right_without_mutation());
  const std::vector<Outcome> outcomes = try_mutations(kernels);
  std::map<std::string, int> how_often;
  int found = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.how.empty()) continue;
    ++found;
    const size_t end = outcome.how.starts_with("sim: ") ? outcome.how.find(": ", 5) : 0;
    ++how_often[end != 0 ? outcome.how.substr(5, end - 5) : outcome.how];
  }
  const double share = found / static_cast<double>(outcomes.size());
  fmt::print("{} of {} mutations of {} kernels noticed: {:.1f} %\n", found, outcomes.size(),
             kernels.size(), 100 * share);
  for (const auto& [how, count] : how_often) fmt::print("{:5} {}\n", count, how);
  EXPECT_GE(share, kFloor);
  const std::set<std::string> survivors = survivor_rows(outcomes), documented = documented_rows();
  EXPECT_EQ(difference(survivors, documented), "") << "not in docs/simulator.md";
  EXPECT_EQ(difference(documented, survivors), "") << "in docs/simulator.md, but noticed";
}

}  // namespace
}  // namespace coda::tools
