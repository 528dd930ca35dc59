// B0 from the mathematics. A head of q or k is y = scale·R(θ)·n with n = z, or n = γ·z·s of a head
// norm; z = r·(…) + bias. Unfused: cosines and sines in the storage type, of angles in fp32; the
// rotation's two products; the norm's gradient in fp32; each stored, then times r.
#pragma once
#include <cmath>

#include "coda/catalogue/row_factor_reference.h"

namespace coda::catalogue {

namespace rope_backward {

using reference::Array;
using reference::Arrays;
using reference::Rounding;

// [M, d/2] each, times scale.
struct Turns {
  Array cosines, sines;
};

inline Turns turns_of(const Arrays& in, const Rounding& round, int64_t half) {
  const Array& positions = in.at("positions");
  const double scale = reference::given_or(in, "scale", 1)(0, 0);
  Turns turns{{positions.columns, half}, {positions.columns, half}};
  for (int64_t m = 0; m < positions.columns; ++m) {
    for (int64_t j = 0; j < half; ++j) {
      if (in.contains("cos")) {
        const auto at = static_cast<int64_t>(positions(0, m));
        turns.cosines(m, j) = in.at("cos")(at, j) * scale;
        turns.sines(m, j) = in.at("sin")(at, j) * scale;
        continue;
      }
      const double angle =
          round.as("inv_freq", Array(positions(0, m) * in.at("inv_freq")(0, j)))(0, 0);
      turns.cosines(m, j) = std::cos(angle) * scale;
      turns.sines(m, j) = std::sin(angle) * scale;
    }
  }
  return {round(turns.cosines), round(turns.sines)};
}

// dy turned back: [M, H·d]
inline Array turn_back(const Array& dy, const Turns& turns, const Rounding& round) {
  const int64_t half = turns.cosines.columns;
  Array along(dy.rows, dy.columns), across(dy.rows, dy.columns);
  for (int64_t m = 0; m < dy.rows; ++m) {
    for (int64_t n = 0; n < dy.columns; ++n) {
      const int64_t j = n % half;
      const bool first = n / half % 2 == 0;
      along(m, n) = dy(m, n) * turns.cosines(m, j);
      across(m, n) =
          first ? dy(m, n + half) * turns.sines(m, j) : -dy(m, n - half) * turns.sines(m, j);
    }
  }
  return round(round(along) + round(across));
}

// Sums over each head: [M, H·d] → [M, H·d], every column the sum of its head.
inline Array head_sums(const Array& x, int64_t d) {
  Array result(x.rows, x.columns);
  for (int64_t m = 0; m < x.rows; ++m) {
    for (int64_t begin = 0; begin < x.columns; begin += d) {
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) sum += x(m, begin + i);
      for (int64_t i = 0; i < d; ++i) result(m, begin + i) = sum;
    }
  }
  return result;
}

inline Array repeat(const Array& vector, int64_t times) {
  Array result(1, vector.columns * times);
  for (int64_t j = 0; j < result.columns; ++j) result(0, j) = vector(0, j % vector.columns);
  return result;
}

inline Array stack(const Array& a, const Array& b) {
  Array result(a.rows + b.rows, b.columns);
  std::copy(a.values.begin(), a.values.end(), result.values.begin());
  std::copy(b.values.begin(), b.values.end(), result.values.begin() + a.size());
  return result;
}

}  // namespace rope_backward

inline reference::Arrays rope_backward_reference(const reference::Arrays& in,
                                                 const reference::Rounding& round) {
  using namespace rope_backward;
  const auto d = static_cast<int64_t>(in.at("head_dim")(0, 0));
  const Turns turns = turns_of(in, round, d / 2);
  const Array r = row_factor(in, round);
  Arrays result;
  Array sums(0, r.rows);
  for (const std::string name : {"q", "k", "v"}) {
    const Array &dy = in.at("d" + name), &y = in.at(name);
    const int64_t heads = dy.columns / d;
    Array dn = name == "v" ? dy : turn_back(dy, turns, round);
    Array dz = dn, products = y * dy;
    if (in.contains(name + "_norm")) {
      const Array gamma = repeat(in.at(name + "_norm"), heads);
      const Array width(static_cast<double>(d));
      const Array s = reciprocal_sqrt(head_sums(y * y, d) / width + in.at("norm_epsilon"));
      const Array normal = y * s, dnormal = round(dn * gamma);
      dz = round(s * (dnormal - normal * head_sums(dnormal * normal, d) / width));
      products = y * dz;  // exactly; what is left of it is ε's²·Σ n·dn
      result["d" + name + "_norm"] = round.column_partial_sums(dn * round(normal));
    }
    if (in.contains("bias_" + name)) products = products - in.at("bias_" + name) * dz;
    result["dbias_" + name] = round.column_partial_sums(dz);
    result["dz" + name] = round.as("dz" + name, dz * r);
    sums = stack(sums, round.row_partial_sums(products, {}, static_cast<int>(d)));
  }
  result["sums"] = sums;
  return result;
}

}  // namespace coda::catalogue
