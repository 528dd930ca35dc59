// Points of a line chart: smoothing, fewer of them, and the ticks of its axes.
#pragma once
#include <cstddef>
#include <vector>

namespace coda::train {

struct CurvePoint {
  double step = 0, loss = 0;  // a loss that is no finite number is a gap
  bool operator==(const CurvePoint&) const = default;
};
using Curve = std::vector<CurvePoint>;

// Weighted means over a 12th of the points, as many on either side, so fewer near the ends. A gap
// wider than that stays one.
Curve smoothed(const Curve& curve);

// At most two points for each of `buckets` runs of points, the lowest and the highest, so that
// spikes stay to be seen.
Curve thinned(const Curve& curve, size_t buckets);

// 1, 2 or 5 times a power of ten: the least that cuts `range` into at most `count` pieces.
double tick_distance(double range, int count);

struct Axis {
  double low = 0, high = 1, tick = 1;
};

// From a multiple of its tick to a multiple of its tick, around all losses but the highest 200th of
// the curve's: a spike would flatten the rest.
Axis loss_axis(const Curve& curve, const Curve& held_out);

}  // namespace coda::train
