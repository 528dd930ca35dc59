#include "coda/train/loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "coda/checkpoint/atomic.h"
#include "coda/core/error.h"
#include "coda/terminal/text_width.h"
#include "coda/train/curve.h"
#include "coda/train/xml_text.h"

namespace coda::train {
namespace {

// A white card of its own, so that it reads on light and on dark pages.
constexpr double kWidth = 860, kHeight = 440;
constexpr double kLeft = 66, kRight = 836, kTop = 58, kBottom = 380;
constexpr const char* kInk = "#1f2328";
constexpr const char* kFaint = "#59636e";
constexpr const char* kGrid = "#e4e8ed";
constexpr const char* kRaw = "#a8c8f0";
constexpr const char* kSmooth = "#1a5fb4";
constexpr const char* kHeldOut = "#d9480f";
constexpr auto kBuckets = static_cast<size_t>(kRight - kLeft);  // one for each column of pixels
constexpr size_t kTitleWidth = 90;                              // characters that fit

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     xml_text(text));
}

struct Scale {
  Axis steps, losses;
  double x(double step) const { return kLeft + (kRight - kLeft) * step / steps.high; }
  double y(double loss) const {
    return kBottom - (kBottom - kTop) * (loss - losses.low) / (losses.high - losses.low);
  }
};

Scale scale_of(const Curve& curve, const Curve& held_out) {
  double last = 1;
  for (const Curve* points : {&curve, &held_out}) {
    for (const CurvePoint& point : *points) last = std::max(last, point.step);
  }
  return {{0, last, std::max(1.0, tick_distance(last, 10))}, loss_axis(curve, held_out)};
}

std::string step_text(double step, double last) {
  if (last >= 1e6) return fmt::format("{:.4g}M", step / 1e6);
  if (last >= 1e4) return fmt::format("{:.4g}k", step / 1e3);
  return fmt::format("{:.0f}", step);
}

std::string axes(const Scale& scale) {
  std::string svg = fmt::format("<g font-size=\"12\" fill=\"{}\" stroke=\"none\">\n", kFaint);
  const Axis& losses = scale.losses;
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(losses.tick) + 1e-9)));
  const auto rows = std::llround((losses.high - losses.low) / losses.tick);
  for (int64_t i = 0; i <= rows; ++i) {
    const double loss = losses.low + static_cast<double>(i) * losses.tick;
    svg += fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"{}\"/>\n", kLeft, scale.y(loss), kRight,
                       i == 0 ? kFaint : kGrid);
    svg += text_at(kLeft - 8, scale.y(loss) + 4, "text-anchor=\"end\"",
                   fmt::format("{:.{}f}", loss, digits));
  }
  const auto columns = static_cast<int64_t>(scale.steps.high / scale.steps.tick);
  for (int64_t i = 0; i <= columns; ++i) {
    const double step = static_cast<double>(i) * scale.steps.tick;
    svg +=
        fmt::format("<path d=\"M{:.1f} {}v5\" stroke=\"{}\"/>\n", scale.x(step), kBottom, kFaint);
    svg += text_at(scale.x(step), kBottom + 20, "text-anchor=\"middle\"",
                   step_text(step, scale.steps.high));
  }
  const double middle = (kTop + kBottom) / 2;
  svg += text_at((kLeft + kRight) / 2, kBottom + 44, "text-anchor=\"middle\" font-size=\"13\"",
                 "step");
  svg += text_at(20, middle,
                 fmt::format("text-anchor=\"middle\" font-size=\"13\" "
                             "transform=\"rotate(-90 20 {:.1f})\"",
                             middle)
                     .c_str(),
                 "loss, nats per token");
  return svg + "</g>\n";
}

std::string path(const Scale& scale, const Curve& curve, const char* color, double width) {
  std::string commands;
  bool gap = true;
  for (const CurvePoint& point : thinned(curve, kBuckets)) {
    const bool finite = std::isfinite(point.loss);
    if (finite) {
      // Far beyond the card a viewer need not know how far.
      const double y = std::max(scale.y(point.loss), -kHeight);
      commands += fmt::format("{}{:.1f} {:.1f}", gap ? 'M' : 'L', scale.x(point.step), y);
    }
    gap = !finite;
  }
  if (commands.empty()) return {};
  return fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", commands, color,
                     width);
}

std::string dot(double x, double y) {
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" stroke=\"#ffffff\" "
      "stroke-width=\"1.5\"/>\n",
      x, y, kHeldOut);
}

// At the top right, where losses that fall leave room.
std::string legend(const Curve& held_out) {
  constexpr double kX = kRight - 230, kY = kTop + 12, kLine = 22;
  const bool measured = !held_out.empty();
  std::string svg = fmt::format(
      "<g font-size=\"13\" fill=\"{}\">\n<rect x=\"{}\" y=\"{}\" width=\"222\" height=\"{}\" "
      "rx=\"6\" fill=\"#ffffff\" fill-opacity=\"0.9\" stroke=\"{}\"/>\n",
      kInk, kX, kY, measured ? 80 : 58, kGrid);
  const auto sample = [&](double y, const char* color, double width, const char* name) {
    svg += fmt::format("<path d=\"M{} {}h26\" stroke=\"{}\" stroke-width=\"{}\"/>\n", kX + 12,
                       y - 4.5, color, width);
    svg += text_at(kX + 48, y, "", name);
  };
  sample(kY + kLine, kRaw, 1.5, "training, every step");
  sample(kY + 2 * kLine, kSmooth, 2.5, "training, smoothed");
  if (measured) {
    svg += dot(kX + 25, kY + 3 * kLine - 4.5);
    std::string name = fmt::format("held out: {:.3f}", held_out.front().loss);
    if (held_out.size() > 1) name += fmt::format(" → {:.3f}", held_out.back().loss);
    svg += text_at(kX + 48, kY + 3 * kLine, "", name);
  }
  return svg + "</g>\n";
}

}  // namespace

std::string loss_plot_svg(const std::string& title, const Metrics& metrics) {
  Curve curve, held_out;
  for (const StepMetrics& step : metrics.steps) {
    curve.push_back({static_cast<double>(step.step), step.loss});
  }
  for (const HeldOutMetrics& point : metrics.held_out) {
    if (!std::isfinite(point.loss)) continue;
    held_out.push_back({static_cast<double>(point.step), point.loss});
  }
  const Scale scale = scale_of(curve, held_out);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n"
      "<rect x=\"0.5\" y=\"0.5\" width=\"{3}\" height=\"{4}\" rx=\"8\" fill=\"#ffffff\" "
      "stroke=\"#d0d7de\"/>\n"
      "<clipPath id=\"area\"><rect x=\"{5}\" y=\"{6}\" width=\"{7}\" height=\"{8}\"/></clipPath>\n",
      kWidth, kHeight, xml_text(title), kWidth - 1, kHeight - 1, kLeft, kTop, kRight - kLeft,
      kBottom - kTop);
  svg += text_at(kLeft, 36,
                 fmt::format("font-size=\"16\" font-weight=\"600\" fill=\"{}\"", kInk).c_str(),
                 terminal::cut_to_width(title, kTitleWidth));
  svg += axes(scale);
  svg += "<g clip-path=\"url(#area)\" fill=\"none\" stroke-linejoin=\"round\">\n";
  svg += path(scale, curve, kRaw, 1);
  svg += path(scale, smoothed(curve), kSmooth, 2.25);
  svg += "</g>\n";
  for (const CurvePoint& point : held_out) svg += dot(scale.x(point.step), scale.y(point.loss));
  return svg + legend(held_out) + "</svg>\n";
}

std::string write_loss_plot(const std::string& title, const std::string& run_folder) {
  const std::string path = run_folder + "/loss.svg";
  try {
    checkpoint::write_file_atomically(
        path, loss_plot_svg(title, read_metrics(run_folder + "/metrics.jsonl")));
  } catch (const Error& error) {
    return error.what();
  }
  return path;
}

}  // namespace coda::train
