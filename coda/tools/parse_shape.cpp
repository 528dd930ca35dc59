#include "coda/tools/parse_shape.h"

#include <fmt/format.h>

#include <charconv>

#include "coda/core/error.h"

namespace coda::tools {

Shape parse_shape(const std::string& text) {
  int64_t extent[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (int i = 0; i < 3 && good; ++i) {
    const auto [next, error] = std::from_chars(at, end, extent[i]);
    good = error == std::errc() && extent[i] > 0 && extent[i] <= 1 << 30 &&
           (i == 2 ? next == end : next != end && *next == 'x');
    at = next + 1;
  }
  if (!good) {
    throw Error(fmt::format("--shape: expected MxNxK such as 4096x2048x2048, got '{}'", text));
  }
  return {extent[0], extent[1], extent[2]};
}

}  // namespace coda::tools
