#include "coda/tools/layer_reference.h"

#include <cmath>

namespace coda::tools {
namespace {

using reference::Array;
using reference::Arrays;
using reference::Rounding;

Array side_by_side(const Array& a, const Array& b) {
  Array result(a.rows, a.columns + b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) result(i, j) = a(i, j);
    for (int64_t j = 0; j < b.columns; ++j) result(i, a.columns + j) = b(i, j);
  }
  return result;
}

struct Angles {
  Array cos, sin;  // [M, d/2], as a framework's tables hold them
};

Angles angles_of(const Arrays& in, const Rounding& round) {
  const Array angle = transpose(in.at("positions")) * in.at("inv_freq");
  return {round(map(angle, [](double a) { return std::cos(a); })),
          round(map(angle, [](double a) { return std::sin(a); }))};
}

// Turns the two halves of every head by the angles, or back.
Array rotate(const Array& x, const Angles& angles, bool back, const Rounding& round) {
  const int64_t half = angles.cos.columns;
  Array first(x.rows, x.columns), second(x.rows, x.columns);  // x·cos, and the other half·±sin
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) {
      const int64_t within = j % (2 * half), pair = within % half;
      const bool lower = within < half;
      const double sin = back == lower ? angles.sin(i, pair) : -angles.sin(i, pair);
      first(i, j) = x(i, j) * angles.cos(i, pair);
      second(i, j) = x(i, lower ? j + half : j - half) * sin;
    }
  }
  return round(round(first) + round(second));
}

struct Norm {
  Array factor;  // [M, 1]
  Array out;     // [M, h]
};

Norm rms_norm(const Array& x, const Array& gamma, const Rounding& round) {
  const Array mean = row_sums(x * x) / static_cast<double>(x.columns);
  Norm norm{reciprocal_sqrt(mean + kLayerEpsilon), {}};
  norm.out = round(x * norm.factor * gamma);
  return norm;
}

// Of x, beside the gradient along the residual stream; dn is that of the norm's result.
Array rms_norm_backward(const Array& dn, const Array& x, const Array& gamma, const Array& factor,
                        const Array& along, const Rounding& round) {
  const Array scaled = dn * gamma;
  const Array mean = row_sums(scaled * x) / static_cast<double>(x.columns);
  return round(along + round(factor * scaled - x * factor * factor * factor * mean));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Arrays layer_reference(const Arrays& in, const Rounding& round) {
  const Array &y = in.at("y"), &x = in.at("x"), &gamma1 = in.at("gamma1"),
              &gamma2 = in.at("gamma2");
  const auto linear = [&](const Array& a, const Array& b) { return round(round.matmul(a, b)); };
  // of a weight: dWᵀ·X; through it: dZ·W
  const auto of_weight = [&](const Array& dz, const Array& input) {
    return linear(transpose(dz), transpose(input));
  };

  const Array x1 = round(linear(y, in.at("wo")) + x);
  const Norm norm1 = rms_norm(x1, gamma1, round);
  const Array gate = linear(norm1.out, in.at("wg")), up = linear(norm1.out, in.at("wu"));
  const Array activated = round(silu(gate)), a = round(activated * up);
  const Array x2 = round(linear(a, in.at("wd")) + x1);
  const Norm norm2 = rms_norm(x2, gamma2, round);
  const Angles angles = angles_of(in, round);
  Arrays out{{"x2", x2},
             {"q", rotate(linear(norm2.out, in.at("wq")), angles, false, round)},
             {"k", rotate(linear(norm2.out, in.at("wk")), angles, false, round)},
             {"v", linear(norm2.out, in.at("wv"))}};

  const Array zq = rotate(in.at("dq"), angles, true, round);
  const Array zk = rotate(in.at("dk"), angles, true, round);
  const Array& zv = in.at("dv");
  const Array dn2 =
      linear(side_by_side(side_by_side(zq, zk), zv),
             side_by_side(side_by_side(transpose(in.at("wq")), transpose(in.at("wk"))),
                          transpose(in.at("wv"))));
  out["dwq"] = of_weight(zq, norm2.out);
  out["dwk"] = of_weight(zk, norm2.out);
  out["dwv"] = of_weight(zv, norm2.out);
  out["dgamma2"] = round(column_sums(dn2 * x2 * norm2.factor));
  const Array dx2 = rms_norm_backward(dn2, x2, gamma2, norm2.factor, in.at("dx2"), round);

  const Array da = linear(dx2, transpose(in.at("wd")));
  out["dwd"] = of_weight(dx2, a);
  const Array slope = map(gate, [](double g) {
    const double s = sigmoid(g);
    return s * (1 + g * (1 - s));
  });
  const Array dgate = round(round(da * up) * slope), dup = round(da * activated);
  const Array dn1 = linear(side_by_side(dgate, dup),
                           side_by_side(transpose(in.at("wg")), transpose(in.at("wu"))));
  out["dwg"] = of_weight(dgate, norm1.out);
  out["dwu"] = of_weight(dup, norm1.out);
  out["dgamma1"] = round(column_sums(dn1 * x1 * norm1.factor));
  const Array dx1 = rms_norm_backward(dn1, x1, gamma1, norm1.factor, dx2, round);
  out["dx"] = dx1;
  out["dy"] = linear(dx1, transpose(in.at("wo")));
  out["dwo"] = of_weight(dx1, y);
  return out;
}

}  // namespace coda::tools
