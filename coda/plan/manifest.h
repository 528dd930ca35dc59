// Which kernels a program is compiled to: catalogue/x_kernels.h specialises Manifest for its
// programs; the GPU's build and the simulator read it.
#pragma once
#include "coda/kernel/traits.h"

namespace coda::plan {

template <class... K>
struct KernelList {};

// Kernels: a KernelList. The first one is in every build.
template <class P>
struct Manifest;

// KernelTraits by what they are for. T: of the operands. kTile: place in kernel::kTileConfigs.
// kGiven: bit i for port i, of the optional ones, and of a Choice for what is not the usual one.
template <class P, class T, int kTile, uint32_t kGiven = 0>
using Forward =  // A [M, K], B [N, K]
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kContraction,
                         kernel::OperandMajor::kContraction, kGiven>;
// kEither: optional ports that it takes given or not, at the price of a branch.
template <class P, class T, int kTile, uint32_t kEither, uint32_t kGiven = 0>
using ForwardEither =
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kContraction,
                         kernel::OperandMajor::kContraction, kGiven, false, kEither>;
template <class P, class T, int kTile, uint32_t kGiven = 0>
using InputGrad =  // dX = dZ W: A [M, K], B stored [K, N]
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kContraction,
                         kernel::OperandMajor::kRows, kGiven>;
template <class P, class T, int kTile, uint32_t kEither, uint32_t kGiven = 0>
using InputGradEither = kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kContraction,
                                             kernel::OperandMajor::kRows, kGiven, false, kEither>;
template <class P, class T, int kTile, uint32_t kGiven = 0>
using WeightGrad =  // dW = dZᵀ X: A stored [K, M], B stored [K, N], in slices of K
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kRows, kernel::OperandMajor::kRows,
                         kGiven, true>;
template <class P, class T, int kTile, uint32_t kGiven = 0>
using WholeWeightGrad =  // likewise, the contraction whole: what reduces columns has no slices
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kRows, kernel::OperandMajor::kRows,
                         kGiven>;
template <class P, class T, int kTile, uint32_t kGiven = 0>
using TransposedA =  // A stored [K, M], B [N, K]
    kernel::KernelTraits<P, T, kTile, kernel::OperandMajor::kRows,
                         kernel::OperandMajor::kContraction, kGiven>;

}  // namespace coda::plan
