// Segmented of check_programs.h as an operation, with its formula: ports that no program of the
// catalogue has, for the CPU and, in bf16, for the simulator.
#pragma once
#include <cmath>

#include "coda/catalogue/simulated.h"
#include "tests/tools/check_programs.h"

namespace coda::sim {

template <>
std::span<const plan::KernelEntry> kernels_of<tools::Segmented>();
template <>
std::span<const plan::KernelEntry> kernels_of<tools::SwappedSwiglu>();

}  // namespace coda::sim

namespace coda::tools {

inline reference::Arrays segmented_reference(const reference::Arrays& in,
                                             const reference::Rounding& round) {
  using reference::Array;
  const Array z =
      round.as("z", round.matmul(in.at("A"), in.at("B")) + in.at("bias") + in.at("offset"));
  // Segment by segment, 128 columns at a time.
  const std::vector<int64_t> segments = segments_of(in, "segments.N");
  Array top(0, z.rows), exponentials = z;
  int64_t begin = 0;
  for (const int64_t size : segments) {
    for (const int64_t segment_end = begin + size; begin < segment_end;) {
      const int64_t end = std::min(begin + 128, segment_end);
      top.values.resize(static_cast<size_t>(++top.rows * z.rows));
      for (int64_t i = 0; i < z.rows; ++i) {
        double largest = z(i, begin);
        for (int64_t j = begin; j < end; ++j) {
          if (!(z(i, j) <= largest) && !std::isnan(largest)) largest = z(i, j);
        }
        const double shift = std::isinf(largest) ? 0 : largest;
        for (int64_t j = begin; j < end; ++j) exponentials(i, j) = std::exp(z(i, j) - shift);
        top(top.rows - 1, i) = largest;
      }
      begin = end;
    }
  }
  const Array sum = round.row_partial_sums(round.as("lse", exponentials), segments, 128);
  const Array sign = map(in.at("flag"), [](double flag) { return flag == 0 ? -1.0 : 1.0; });
  const Array sums = round.column_partial_sums(z * transpose(sign));
  return {{"z", z},
          {"lse.0", round.as("lse", top)},
          {"lse.1", round.as("lse", sum)},
          {"sums", round.as("sums", sums)}};
}

inline catalogue::Operation segmented_operation(DType operand) {
  return {.name = "segmented",
          .formula = "",
          .summary = "",
          .variants = {catalogue::variant<Segmented>("only", operand)},
          .reference = &segmented_reference,
          .exact = {"z"}};
}

}  // namespace coda::tools
