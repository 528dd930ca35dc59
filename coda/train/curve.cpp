#include "coda/train/curve.h"

#include <algorithm>
#include <cmath>

namespace coda::train {

namespace {

// The mean over up to `reach` points on either side, as many on both.
Curve mean_around(const Curve& curve, size_t reach) {
  std::vector<double> sums{0}, counts{0};
  for (const CurvePoint& point : curve) {
    const bool finite = std::isfinite(point.loss);
    sums.push_back(sums.back() + (finite ? point.loss : 0));
    counts.push_back(counts.back() + (finite ? 1 : 0));
  }
  Curve result;
  for (size_t i = 0; i < curve.size(); ++i) {
    const size_t side = std::min({reach, i, curve.size() - 1 - i});
    const size_t from = i - side, to = i + side + 1;
    result.push_back({curve[i].step, (sums[to] - sums[from]) / (counts[to] - counts[from])});
  }
  return result;
}

}  // namespace

// Twice the mean: weights that fall off to both sides, which leave no steps beside a spike.
Curve smoothed(const Curve& curve) {
  const size_t reach = curve.size() / 50;
  return mean_around(mean_around(curve, reach), reach);
}

Curve thinned(const Curve& curve, size_t buckets) {
  if (curve.size() <= 2 * buckets) return curve;
  Curve result;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    const size_t first = bucket * curve.size() / buckets;
    const size_t last = (bucket + 1) * curve.size() / buckets;
    size_t low = last, high = last;
    for (size_t i = first; i < last; ++i) {
      if (!std::isfinite(curve[i].loss)) continue;
      if (low == last || curve[i].loss < curve[low].loss) low = i;
      if (high == last || curve[i].loss > curve[high].loss) high = i;
    }
    if (low == last) {
      result.push_back(curve[first]);  // the gap
      continue;
    }
    result.push_back(curve[std::min(low, high)]);
    if (low != high) result.push_back(curve[std::max(low, high)]);
  }
  return result;
}

double tick_distance(double range, int count) {
  const double least = range / count;
  // A little slack: 0.3/3 is to take 0.1, not the next larger tick.
  const double power = std::pow(10, std::floor(std::log10(least) + 1e-9));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Axis loss_axis(const Curve& curve, const Curve& held_out) {
  std::vector<double> losses;
  const auto add = [&](const Curve& points) {
    for (const CurvePoint& point : points) {
      if (std::isfinite(point.loss)) losses.push_back(point.loss);
    }
  };
  add(curve);
  std::ranges::sort(losses);
  losses.resize(losses.size() - losses.size() / 200);
  add(held_out);
  if (losses.empty()) losses.push_back(0);
  auto [low, high] = std::ranges::minmax(losses);
  if (high - low <= 1e-3 * std::abs(high)) {  // all but level: some room around it
    const double room = std::max(0.5, 0.1 * std::abs(high));
    low -= room;
    high += room;
  }
  const double tick = tick_distance(high - low, 6);
  return {std::floor(low / tick) * tick, std::ceil(high / tick) * tick, tick};
}

}  // namespace coda::train
