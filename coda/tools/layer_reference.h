// A LLaMA layer without attention in fp64, from the attention's output y and the residual stream x
// to q, k and v of the next attention, and its gradients by the textbook's chain rule: the norms
// are normalised, and none of the identities that coda's operations rest on is used. With rounding
// it is the unfused computation of a framework.
#pragma once
#include "coda/reference/formula.h"

namespace coda::tools {

inline constexpr double kLayerEpsilon = 1e-6;

// in: y [M, Hq·d], x [M, h], wo, wg, wu, wd, wq, wk, wv ([out, in]), gamma1, gamma2 [1, h],
// inv_freq [1, d/2], positions [1, M]; and dx2, dq, dk, dv, the gradients of what the layer gives.
// Result: x2, q, k, v, and the gradient of every input but the rotation's: d + its name.
reference::Arrays layer_reference(const reference::Arrays& in,
                                  const reference::Rounding& round = {});

}  // namespace coda::tools
