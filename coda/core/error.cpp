#include "coda/core/error.h"

#include <fmt/format.h>

namespace coda {

void fail_argument(const std::string& operation, const std::string& argument,
                   const std::string& expected, const std::string& got) {
  throw Error(
      fmt::format("{}: argument '{}': expected {}, got {}", operation, argument, expected, got));
}

}  // namespace coda
