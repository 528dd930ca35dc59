// The median of what was measured; of an even number, the mean of the two in the middle.
#pragma once
#include <algorithm>
#include <vector>

namespace coda::tools {

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace coda::tools
