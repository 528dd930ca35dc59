// The chart is well-formed whatever it is given, and its points lie where the losses are.
#include "coda/train/loss_plot.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "coda/core/random.h"
#include "coda/train/curve.h"
#include "coda/train/xml_text.h"

namespace coda::train {
namespace {

Metrics falling(int64_t steps) {
  Metrics metrics;
  for (int64_t step = 1; step <= steps; ++step) {
    const auto share = static_cast<float>(step) / static_cast<float>(steps);
    metrics.steps.push_back({.step = step, .loss = 5 - 3 * share});
  }
  metrics.held_out = {{0, 5}, {steps, 2}};
  return metrics;
}

// Tags open and close in order, quotes within them pair up, and no number is nan or inf.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  size_t at = 0;
  for (size_t start; (start = svg.find('<', at)) != svg.npos;) {
    ASSERT_EQ(svg.substr(at, start - at).find('>'), svg.npos);
    const size_t end = svg.find('>', start);
    ASSERT_NE(end, svg.npos);
    const std::string tag = svg.substr(start + 1, end - start - 1);
    ASSERT_EQ(tag.find('<'), svg.npos) << tag;
    ASSERT_EQ(std::ranges::count(tag, '"') % 2, 0) << tag;
    ASSERT_EQ(tag.find("nan"), svg.npos) << tag;
    ASSERT_EQ(tag.find("inf"), svg.npos) << tag;
    const std::string name = tag.substr(0, tag.find(' '));
    if (name.starts_with('/')) {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ("/" + open.back(), name);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.substr(at), "\n");
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
  return found;
}

TEST(LossPlot, ShowsWhatWasMeasured) {
  const std::string svg = loss_plot_svg("a run", falling(100));
  expect_well_formed(svg);
  EXPECT_EQ(svg, loss_plot_svg("a run", falling(100)));
  for (const char* part : {"a run", ">step<", "loss, nats", "training, every step",
                           "training, smoothed", "held out: 5.000 → 2.000", ">100<", ">5.0<"}) {
    EXPECT_EQ(count(svg, part) >= 1, true) << part << "\n" << svg;
  }
  EXPECT_EQ(count(svg, "<circle"), 3);  // one of them in the legend
  // Loss 5 at step 0 lies at the top left corner of the area, loss 2 at the bottom right one.
  EXPECT_EQ(count(svg, "<circle cx=\"66.0\" cy=\"58.0\""), 1) << svg;
  EXPECT_EQ(count(svg, "<circle cx=\"836.0\" cy=\"380.0\""), 1) << svg;
  EXPECT_EQ(count(svg, "L836.0 380.0\""), 2) << svg;  // both lines end there
}

TEST(LossPlot, TakesAnyMetrics) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = INFINITY;
  const auto plot = [](std::vector<float> losses, std::vector<HeldOutMetrics> held_out) {
    Metrics metrics;
    for (const float loss : losses) {
      metrics.steps.push_back(
          {.step = static_cast<int64_t>(metrics.steps.size()) + 1, .loss = loss});
    }
    metrics.held_out = std::move(held_out);
    const std::string svg = loss_plot_svg("", metrics);
    expect_well_formed(svg);
    return svg;
  };
  EXPECT_EQ(count(plot({}, {}), "circle"), 0);
  plot({3}, {});
  plot({3, 3, 3}, {{3, 3}});
  plot({0, 0}, {});
  plot({}, {{0, 3.5f}});
  plot({kNan, kInfinity, -kInfinity}, {{0, kNan}});
  plot({1e38f, -1e38f, 1e-38f}, {});
  plot({1e-30f, 2e-30f}, {});
  const std::string gap = plot({5, 4, kNan, 3, 2}, {});
  EXPECT_EQ(count(gap, "L"), 4) << gap;  // two lines of two pieces each
}

TEST(LossPlot, StaysSmall) {
  const std::string svg = loss_plot_svg("long", falling(1'000'000));
  expect_well_formed(svg);
  EXPECT_LT(svg.size(), 100'000u);
  EXPECT_EQ(count(svg, ">1M<"), 1) << svg.substr(0, 4000);
}

RC_GTEST_PROP(LossPlot, EscapesItsTitle, (std::string title)) {
  expect_well_formed(loss_plot_svg(title, falling(3)));
}

TEST(XmlText, EscapesAndReplaces) {
  EXPECT_EQ(xml_text("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(xml_text("Σx² 😀"), "Σx² 😀");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(xml_text(std::string("\0\x01", 2)), bad + bad);
  EXPECT_EQ(xml_text("\xff"
                     "a"),
            bad + "a");
  EXPECT_EQ(xml_text("\xc3"), bad);                                // cut short
  EXPECT_EQ(xml_text("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(xml_text("\xed\xa0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(xml_text("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond Unicode
  EXPECT_EQ(xml_text("\xef\xbf\xbf"), bad + bad + bad);            // U+FFFF
}

TEST(Curve, SmoothingKeepsLinesAndLevels) {
  Curve line;
  for (int i = 0; i < 500; ++i) line.push_back({1.0 * i, 7 - 0.01 * i});
  const Curve smooth = smoothed(line);
  ASSERT_EQ(smooth.size(), line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    EXPECT_EQ(smooth[i].step, line[i].step);
    EXPECT_NEAR(smooth[i].loss, line[i].loss, 1e-10);
  }
}

TEST(Curve, SmoothingTakesNoiseAway) {
  Random random(1);
  Curve noise;
  for (int i = 0; i < 1000; ++i) noise.push_back({1.0 * i, random.normal()});
  const Curve smooth = smoothed(noise);
  double before = 0, after = 0;
  for (size_t i = 100; i < 900; ++i) {
    before += noise[i].loss * noise[i].loss;
    after += smooth[i].loss * smooth[i].loss;
  }
  // Twice the mean over 41: weights k/41² for k = 1…41…1, whose squares add up to 1/61.5.
  EXPECT_NEAR(before / after, 61.5, 30);
  EXPECT_GT(before / after, 41);  // more than once the mean would
}

RC_GTEST_PROP(Curve, ThinningKeepsExtremes, ()) {
  const auto size = *rc::gen::inRange<int64_t>(0, 2000);
  const auto buckets = *rc::gen::inRange<size_t>(1, 100);
  Random random(static_cast<uint64_t>(size));
  Curve curve;
  for (int64_t i = 0; i < size; ++i) curve.push_back({static_cast<double>(i), random.normal()});
  const Curve thin = thinned(curve, buckets);
  RC_ASSERT(thin.size() <= std::max(2 * buckets, size_t{1}));
  RC_ASSERT(std::ranges::is_sorted(thin, {}, &CurvePoint::step));
  if (curve.empty()) return;
  const auto by_loss = [](const CurvePoint& a, const CurvePoint& b) { return a.loss < b.loss; };
  RC_ASSERT(*std::ranges::min_element(thin, by_loss) == *std::ranges::min_element(curve, by_loss));
  RC_ASSERT(*std::ranges::max_element(thin, by_loss) == *std::ranges::max_element(curve, by_loss));
}

TEST(Curve, TicksAreRound) {
  EXPECT_DOUBLE_EQ(tick_distance(10, 10), 1);
  EXPECT_DOUBLE_EQ(tick_distance(11, 10), 2);
  EXPECT_DOUBLE_EQ(tick_distance(300, 10), 50);
  EXPECT_DOUBLE_EQ(tick_distance(0.3, 3), 0.1);
  EXPECT_DOUBLE_EQ(tick_distance(0.31, 3), 0.2);
  EXPECT_DOUBLE_EQ(tick_distance(51, 10), 10);
}

TEST(Curve, AnAxisHoldsAllButSpikes) {
  Curve curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({1.0 * i, 2 + 0.001 * i});
  Axis axis = loss_axis(curve, {});
  EXPECT_DOUBLE_EQ(axis.low, 2);
  EXPECT_DOUBLE_EQ(axis.high, 3);
  curve[500].loss = 1e6;
  axis = loss_axis(curve, {{0, 3.3}});
  EXPECT_DOUBLE_EQ(axis.low, 2);
  EXPECT_DOUBLE_EQ(axis.high, 3.5);
}

}  // namespace
}  // namespace coda::train
