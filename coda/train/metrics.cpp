#include "coda/train/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "coda/checkpoint/atomic.h"
#include "coda/core/error.h"
#include "coda/train/text_files.h"

namespace coda::train {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLineBegin = "{\"step\":";

// The shortest digits that read back as the same float.
std::string number(float value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

float read_number(const Json& line, const char* field) {
  const Json& value = line.at(field);
  return value.is_null() ? std::numeric_limits<float>::quiet_NaN() : value.get<float>();
}

StepMetrics read_step(const Json& line) {
  return {.step = line.at("step").get<int64_t>(),
          .loss = read_number(line, "loss"),
          .learning_rate = read_number(line, "learning_rate"),
          .gradient_norm = read_number(line, "gradient_norm"),
          .tokens = line.at("tokens").get<int64_t>(),
          .seconds = read_number(line, "seconds"),
          .tokens_per_second = read_number(line, "tokens_per_second")};
}

HeldOutMetrics read_held_out(const Json& line) {
  return {line.at("step").get<int64_t>(), read_number(line, "held_out_loss")};
}

// Gives the line's step.
int64_t add_line(const Json& line, Metrics& metrics) {
  if (line.contains("held_out_loss")) {
    metrics.held_out.push_back(read_held_out(line));
    return metrics.held_out.back().step;
  }
  metrics.steps.push_back(read_step(line));
  return metrics.steps.back().step;
}

// Whether this may be of a line of a run that was cut short: before its end, or its newline.
bool is_line_begin(std::string_view text) {
  const Json line = Json::parse(text, nullptr, false);
  if (line.is_discarded()) return text.starts_with(kLineBegin.substr(0, text.size()));
  try {
    Metrics metrics;
    add_line(line, metrics);
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

[[noreturn]] void fail_line(const std::filesystem::path& path, int64_t number,
                            std::string_view line) {
  throw Error(
      fmt::format("'{}' line {}: expected the metrics of a step as JSON, got '{}'; move "
                  "the file away to go on without it",
                  path.string(), number, line.substr(0, 60)));
}

// Hands over every whole line, with its newline.
void for_each_line(const std::filesystem::path& path, std::string_view text,
                   const std::function<void(std::string_view, const Json&)>& use) {
  int64_t number = 1;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1), ++number) {
    const std::string_view line = text.substr(0, end + 1);
    try {
      use(line, Json::parse(line));
    } catch (const Json::exception&) {
      fail_line(path, number, text.substr(0, end));
    }
  }
}

}  // namespace

std::string metrics_line(const StepMetrics& metrics) {
  return fmt::format(
      "{{\"step\":{},\"loss\":{},\"learning_rate\":{},\"gradient_norm\":{},\"tokens\":{},"
      "\"seconds\":{},\"tokens_per_second\":{}}}\n",
      metrics.step, number(metrics.loss), number(metrics.learning_rate),
      number(metrics.gradient_norm), metrics.tokens, number(metrics.seconds),
      number(metrics.tokens_per_second));
}

std::string metrics_line(const HeldOutMetrics& metrics) {
  return fmt::format("{{\"step\":{},\"held_out_loss\":{}}}\n", metrics.step, number(metrics.loss));
}

Metrics read_metrics(const std::filesystem::path& path) {
  Metrics metrics;
  for_each_line(path, read_file(path),
                [&](std::string_view, const Json& line) { add_line(line, metrics); });
  return metrics;
}

MetricsFile::MetricsFile(std::filesystem::path path, int64_t step) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored)) {
    const std::string text = read_file(path_);
    std::string kept;
    Metrics read;
    for_each_line(path_, text, [&](std::string_view line, const Json& fields) {
      if (add_line(fields, read) <= step && step > 0) kept += line;
    });
    has_held_out_ = step > 0 && std::ranges::find(read.held_out, step, &HeldOutMetrics::step) !=
                                    read.held_out.end();
    // A run that begins keeps nothing, so it has to know that all of it is a run's: the lines, or
    // the one that was cut short.
    const bool has_lines = !read.steps.empty() || !read.held_out.empty();
    if (step == 0 && !has_lines && !is_line_begin(text)) fail_line(path_, 1, text);
    if (kept != text) checkpoint::write_file_atomically(path_.string(), kept);
  }
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw Error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
  }
}

MetricsFile::~MetricsFile() { close(file_); }

void MetricsFile::sync() {
  if (fdatasync(file_) == 0 || errno == EINVAL || errno == EROFS) return;  // a pipe, say
  throw Error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
}

void MetricsFile::append(const std::string& line) {
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace coda::train
