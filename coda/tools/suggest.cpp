#include "coda/tools/suggest.h"

#include <algorithm>

#include "coda/core/edit_distance.h"

namespace coda::tools {
std::string nearest(const std::string& name, std::span<const std::string> candidates) {
  std::string best;
  size_t fewest = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const size_t count =
        candidate.starts_with(name) && !name.empty() ? 1 : edit_distance(name, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace coda::tools
