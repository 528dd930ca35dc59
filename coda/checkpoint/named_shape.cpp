#include "coda/checkpoint/named_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

bool may_be_extra(const std::string& name) {
  return name == "lm_head.weight" || name.ends_with("rotary_emb.inv_freq") ||
         name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_shapes(const std::string& where, std::span<const NamedShape> found,
                  std::span<const NamedShape> expected) {
  std::map<std::string, const std::vector<int64_t>*> left;  // found and not yet expected
  for (const NamedShape& tensor : found) left.emplace(tensor.name, &tensor.shape);

  std::string problems;
  const auto report = [&](const std::string& problem) { problems += "\n  " + problem; };
  for (const auto& [name, shape] : expected) {
    const auto at = left.find(name);
    if (at == left.end()) {
      report(fmt::format("missing: {} {}", name, shape_text(shape)));
      continue;
    }
    if (*at->second != shape) {
      report(fmt::format("wrong shape: {}: expected {}, got {}", name, shape_text(shape),
                         shape_text(*at->second)));
    }
    left.erase(at);
  }
  for (const auto& [name, shape] : left) {
    if (!may_be_extra(name)) report(fmt::format("unexpected: {} {}", name, shape_text(*shape)));
  }
  if (!problems.empty()) {
    throw Error(fmt::format("{}: its tensors are not those of the model:{}", where, problems));
  }
}

}  // namespace coda::checkpoint
