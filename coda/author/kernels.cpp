#include "coda/author/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "coda/core/error.h"

namespace coda::author {

void fail_shared_memory(const char* program, const std::vector<PortBytes>& ports, int free) {
  std::vector<PortBytes> sorted = ports;
  std::ranges::sort(sorted, {}, [](const PortBytes& p) { return std::tuple(-p.bytes, p.port); });
  std::string text;
  int total = 0;
  for (const PortBytes& port : sorted) {
    total += port.bytes;
    if (port.bytes > 0) text += fmt::format("\n  {:>6} bytes  {}", port.bytes, port.port);
  }
  throw Error(
      fmt::format("{}: its ports take {} bytes of shared memory, {} are free beside the operands "
                  "of the smallest "
                  "tile: fewer tensors over elements, bf16 instead of float, or two programs; it "
                  "runs on the CPU "
                  "as it is{}",
                  program, total, free, text));
}

}  // namespace coda::author
