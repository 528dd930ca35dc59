// One step of AdamW; unfused: every operator's result in fp32, the weight rounded once, and a
// multiplication by γ. A clip that is not finite changes nothing.
#pragma once
#include <cmath>

#include "coda/reference/formula.h"

namespace coda::catalogue {

inline reference::Arrays adamw_reference(const reference::Arrays& in,
                                         const reference::Rounding& round) {
  using reference::Array;
  const auto fp32 = [&](const Array& value) { return round.as("master", value); };
  const Array clip = given_or(in, "clip", 1);
  if (!std::isfinite(clip(0, 0))) {
    reference::Arrays same;
    for (const char* name : {"master", "m", "v", "weight", "folded"}) {
      if (in.contains(name)) same[name] = in.at(name);
    }
    return same;
  }
  const Array &rates = in.at("rates"), &beta1 = in.at("beta1"), &beta2 = in.at("beta2");
  const Array lr = rates(0, 0), c1 = rates(0, 1), c2 = rates(0, 2);
  const Array g = fp32(clip * in.at("gradient"));
  const Array m = fp32(fp32(fp32(beta1) * in.at("m")) + fp32(fp32(1.0 - beta1) * g));
  const Array v = fp32(fp32(fp32(beta2) * in.at("v")) + fp32(fp32(1.0 - beta2) * fp32(g * g)));
  const Array root = fp32(map(fp32(v * c2), [](double x) { return std::sqrt(x); }));
  const Array ratio = fp32(fp32(m * c1) / fp32(root + fp32(in.at("epsilon"))));
  const Array kept = fp32(in.at("master") * fp32(1.0 - lr * given_or(in, "decay", 0)));
  const Array master = fp32(kept - fp32(lr * ratio));
  const Array weight = round.as("weight", master);
  reference::Arrays result{{"master", master}, {"m", m}, {"v", v}, {"weight", weight}};
  if (in.contains("gamma")) result["folded"] = round.as("folded", weight * in.at("gamma"));
  return result;
}

}  // namespace coda::catalogue
