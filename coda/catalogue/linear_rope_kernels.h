// What LinearRope and LinearRopeNorm are compiled to for the GPU. Heads of 64, 128, 192 and 256
// take the first tiles, 80, 160 and 240 that of 160 columns, 96 the last.
#pragma once
#include "coda/catalogue/linear_rope.h"
#include "coda/plan/manifest.h"

namespace coda::plan {

inline constexpr uint32_t kRopeEither = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5;  // but for z

template <>
struct Manifest<catalogue::LinearRope<bf16>> {
  using P = catalogue::LinearRope<bf16>;
  using Kernels =
      KernelList<ForwardEither<P, bf16, 2, kRopeEither>, ForwardEither<P, bf16, 1, kRopeEither>,
                 ForwardEither<P, bf16, 4, kRopeEither>, ForwardEither<P, bf16, 7, kRopeEither>,
                 ForwardEither<P, bf16, 8, kRopeEither>>;
};

template <>
struct Manifest<catalogue::LinearRope<fp16>> {
  using P = catalogue::LinearRope<fp16>;
  using Kernels = KernelList<ForwardEither<P, fp16, 1, kRopeEither>>;
};

template <>
struct Manifest<catalogue::LinearRopeNorm<bf16>> {
  using P = catalogue::LinearRopeNorm<bf16>;
  static constexpr uint32_t kZ = 1 << 9;
  using Kernels =
      KernelList<ForwardEither<P, bf16, 1, kRopeEither>, ForwardEither<P, bf16, 1, kRopeEither, kZ>,
                 ForwardEither<P, bf16, 4, kRopeEither>>;
};

template <>
struct Manifest<catalogue::LinearRopeNorm<fp16>> {
  using P = catalogue::LinearRopeNorm<fp16>;
  using Kernels = KernelList<ForwardEither<P, fp16, 1, kRopeEither>>;
};

}  // namespace coda::plan
