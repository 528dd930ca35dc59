#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "coda/terminal/table.h"
#include "coda/tools/bench.h"
#include "coda/tools/machine.h"
#include "coda/version.h"

namespace coda::tools {

std::string bench_table(std::span<const BenchResult> results) {
  terminal::Table table({{"operation"},
                         {"variant"},
                         {"with"},
                         {"M", true},
                         {"N", true},
                         {"K", true},
                         {"config"},
                         {"ms", true},
                         {"TFLOP/s", true},
                         {"GB/s", true},
                         {"baseline"},
                         {"its ms", true},
                         {"speedup", true}});
  for (const BenchResult& r : results) {
    const bool compared = !r.baseline.empty();
    table.add({r.operation, r.variant, fmt::format("{}", fmt::join(r.ports, ",")),
               fmt::format("{}", r.shape.M), fmt::format("{}", r.shape.N),
               fmt::format("{}", r.shape.K), r.config,
               fmt::format("{:.{}f}", r.ms, r.ms < 1 ? 4 : 2),
               r.tflops > 0 ? fmt::format("{:.3f}", r.tflops) : "-",
               r.gigabytes_per_s > 0 ? fmt::format("{:.1f}", r.gigabytes_per_s) : "-",
               compared ? r.baseline : "-",
               compared ? fmt::format("{:.{}f}", r.baseline_ms, r.baseline_ms < 1 ? 4 : 2) : "-",
               compared ? fmt::format("{:.2f}", r.speedup()) : "-"});
  }
  return table.text();
}

std::string bench_json(std::span<const BenchResult> results, const std::optional<BenchGpu>& gpu) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const BenchResult& r : results) {
    const bool compared = !r.baseline.empty();
    const auto optional = [&](const auto& value) { return compared ? Json(value) : Json(nullptr); };
    list.push_back({{"operation", r.operation},
                    {"variant", r.variant},
                    {"ports", r.ports},
                    {"layout", r.layout},
                    {"backend", r.backend},
                    {"dtype", dtype_name(r.dtype)},
                    {"M", r.shape.M},
                    {"N", r.shape.N},
                    {"K", r.shape.K},
                    {"config", r.config},
                    {"chosen", r.chosen},
                    {"regime", r.regime},
                    {"rounds", r.rounds},
                    {"ms", r.ms},
                    {"baseline", optional(r.baseline)},
                    {"baseline_ms", optional(r.baseline_ms)},
                    {"speedup", optional(r.speedup())},
                    {"usual_ms", r.usual_ms > 0 ? Json(r.usual_ms) : Json(nullptr)},
                    {"tflops", r.tflops},
                    {"gb_per_s", r.gigabytes_per_s > 0 ? Json(r.gigabytes_per_s) : Json(nullptr)},
                    {"clock_mhz", r.clock_mhz ? Json(*r.clock_mhz) : Json(nullptr)},
                    {"power_w", r.power_w ? Json(*r.power_w) : Json(nullptr)}});
  }
  Json document = {{"commit", kCommit},
                   {"date", fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)))},
                   {"machine", machine_name()},
                   {"gpu", nullptr}};
  if (gpu) {
    document["gpu"] = gpu->name;
    document["launch_us"] = gpu->launch_us;
    document["launch_by_name_us"] = gpu->launch_by_name_us;
  }
  document["results"] = list;
  return document.dump(2) + "\n";
}

}  // namespace coda::tools
