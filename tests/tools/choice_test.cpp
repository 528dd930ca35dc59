// The choice among kernels against what was measured: bench/results/h200.json has every kernel of
// four operations at every shape, in both regimes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "coda/catalogue/operation.h"
#include "coda/plan/choose.h"

namespace coda::plan {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::vector<std::string>, int64_t,
                       int64_t, int64_t>;
using Times = std::map<std::string, double>;  // by configuration: sums of logarithms

std::map<Key, Times> measured() {
  const auto root = std::filesystem::path(CODA_SOURCE_DIR);
  std::ifstream file(root / "bench" / "results" / "h200.json");
  const auto document = nlohmann::json::parse(file);
  std::map<Key, Times> result;
  for (const auto& r : document["results"]) {
    if (r["config"].get<std::string>().find("_k") != std::string::npos) continue;  // in slices
    const Key key{r["operation"], r["variant"], r["layout"], r["ports"], r["M"], r["N"], r["K"]};
    result[key][r["config"]] += std::log(r["ms"].get<double>()) / 2;  // two regimes
  }
  return result;
}

double predicted(const Key& key, const std::string& config) {
  const auto& [operation, variant_name, layout, ports, M, N, K] = key;
  ProgramView program =
      catalogue::find_variant(catalogue::find_operation(operation), variant_name).program;
  for (PortView& port : program.ports) {
    port.given = port.given || !port.optional || std::ranges::count(ports, port.name) > 0;
  }
  Problem problem;
  problem.rows = {1, {0, M}};
  problem.columns = {1, {0, N}};
  problem.contraction = {1, {0, K}};
  for (const kernel::TileConfig& tile : kernel::kTileConfigs) {
    if (config_name(tile) != config) continue;
    KernelEntry entry;
    entry.config = tile;
    entry.accumulators = program.accumulators;
    return predict_clocks(entry, program, problem, Device{132});
  }
  ADD_FAILURE() << "no configuration " << config;
  return 0;
}

TEST(Choice, IsNearTheBestThatWasMeasured) {
  const auto groups = measured();
  ASSERT_GT(groups.size(), 50u);
  double losses = 0, worst = 0;
  for (const auto& [key, times] : groups) {
    const auto by_prediction = [&](const auto& x, const auto& y) {
      return predicted(key, x.first) < predicted(key, y.first);
    };
    const auto by_time = [](const auto& x, const auto& y) { return x.second < y.second; };
    const double chosen = std::ranges::min_element(times, by_prediction)->second;
    const double best = std::ranges::min_element(times, by_time)->second;
    losses += chosen - best;
    worst = std::max(worst, chosen - best);
  }
  const double mean = std::exp(losses / static_cast<double>(groups.size())) - 1;
  std::printf("the choice loses %.2f %% on average, %.1f %% at most\n", 100 * mean,
              100 * (std::exp(worst) - 1));
  EXPECT_LT(mean, 0.01);
  EXPECT_LT(worst, 0.05);
}

}  // namespace
}  // namespace coda::plan
