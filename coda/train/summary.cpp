#include "coda/train/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "coda/terminal/progress.h"
#include "coda/terminal/table.h"

namespace coda::train {
namespace {

constexpr int kBarWidth = 20;

std::string loss_text(double loss) {
  return fmt::format("{:.4f} (perplexity {:.2f})", loss, std::exp(loss));
}

std::string held_out_lines(const RunSummary& run) {
  std::string lines;
  if (run.held_out_before) lines += fmt::format("  before  {}\n", loss_text(*run.held_out_before));
  if (run.held_out_after) lines += fmt::format("  after   {}", loss_text(*run.held_out_after));
  if (run.held_out_before && run.held_out_after) {
    lines +=
        fmt::format(", {:.1f} % of its start", 100 * *run.held_out_after / *run.held_out_before);
  }
  if (run.held_out_after) lines += '\n';
  if (lines.empty()) return lines;
  return fmt::format("loss on {} held-out tokens\n{}", run.held_out_tokens, lines);
}

// The largest first; what no operation accounts for last.
std::string operation_table(const RunSummary& run) {
  if (run.operations.empty()) return {};
  std::vector<OperationTime> sorted = run.operations;
  std::ranges::sort(sorted, [](const OperationTime& a, const OperationTime& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
  });
  double known = 0;
  for (const OperationTime& operation : sorted) known += operation.seconds;
  const double total = std::max(run.profiled_seconds, known);
  if (total > known) sorted.push_back({"other", 0, total - known});

  terminal::Table table({{"operation"}, {"calls", true}, {"seconds", true}, {"share", true}, {""}});
  for (const OperationTime& operation : sorted) {
    const double share = total > 0 ? operation.seconds / total : 0;
    const auto cells = static_cast<int>(std::lround(share * kBarWidth));
    table.add({operation.name, operation.calls > 0 ? fmt::format("{}", operation.calls) : "",
               fmt::format("{:.2f}", operation.seconds), fmt::format("{:.1f} %", 100 * share),
               terminal::progress_bar(cells, kBarWidth, kBarWidth)});
  }
  return "time per operation\n" + table.text(2);
}

std::string file_lines(const RunSummary& run) {
  std::string lines;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) lines += fmt::format("  {:<10}  {}\n", name, value);
  };
  add("checkpoint", run.checkpoint);
  add("metrics", run.metrics);
  add("loss plot", run.plot);
  add("go on with", run.resume_command);
  return lines.empty() ? lines : "files\n" + lines;
}

}  // namespace

std::string summary_text(const RunSummary& run) {
  std::string text = fmt::format("{} on {}\n", run.model, run.device);
  text += fmt::format("{} steps (to step {}), {} tokens in {:.1f} s", run.steps, run.last_step,
                      count_text(static_cast<double>(run.tokens)), run.seconds);
  if (run.seconds > 0) {
    text += fmt::format(", {} tokens/s", count_text(static_cast<double>(run.tokens) / run.seconds));
  }
  text += '\n';
  text += held_out_lines(run);
  text += operation_table(run);
  text += fmt::format("peak memory\n  planned  {}\n  seen     {}\n", bytes_text(run.planned_bytes),
                      bytes_text(run.seen_bytes));
  return text + file_lines(run);
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  size_t unit = 0;
  auto value = static_cast<double>(bytes) / 1024;
  // 1023.995 would be shown as 1024.00.
  for (; value >= 1023.995 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string count_text(double count) {
  constexpr std::array kUnits{"k", "M", "G", "T"};
  if (count < 999.5) return fmt::format("{:.0f}", count);
  size_t unit = 0;
  double value = count / 1000;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

}  // namespace coda::train
