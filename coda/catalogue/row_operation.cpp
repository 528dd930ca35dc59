#include "coda/catalogue/row_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "coda/core/error.h"

namespace coda::catalogue {

std::optional<TensorView> NamedArguments::maybe(const char* name) const {
  const Argument* found = find_argument(arguments_, name);
  if (found == nullptr) return {};
  return found->tensors[0];
}

TensorView NamedArguments::tensor(const char* name) const {
  const auto found = maybe(name);
  if (!found) fail_argument(operation_, name, "a tensor", "nothing");
  return *found;
}

std::optional<TensorView> NamedArguments::maybe_states(const char* name, int64_t bytes) const {
  std::optional<TensorView> view = maybe(name);
  if (view && view->dtype == DType::kFp32) {
    const int64_t floats = bytes / view->element_bytes;
    view->columns /= floats;
    view->ld /= floats;
    view->dtype = DType::kState;
    view->element_bytes = bytes;
  }
  return view;
}

TensorView NamedArguments::states(const char* name, int64_t bytes) const {
  tensor(name);  // has to be given
  return *maybe_states(name, bytes);
}

double NamedArguments::number(const char* name) const {
  const Argument* found = find_argument(arguments_, name);
  if (found == nullptr) fail_argument(operation_, name, "a number", "nothing");
  return found->number;
}

double NamedArguments::number(const char* name, double otherwise) const {
  const Argument* found = find_argument(arguments_, name);
  return found == nullptr ? otherwise : found->number;
}

int64_t NamedArguments::integer(const char* name) const {
  const double value = number(name);
  if (!(std::fabs(value) < 0x1p53 && value == std::floor(value))) {
    fail_argument(operation_, name, "a whole number", fmt::format("{}", value));
  }
  return static_cast<int64_t>(value);
}

bool NamedArguments::flag(const char* name) const {
  const double value = number(name, 0);
  if (value != 0 && value != 1) fail_argument(operation_, name, "0 or 1", fmt::format("{}", value));
  return value == 1;
}

namespace {

PortView tensor_port(const char* name, const char* shape, DType type, PortKind kind) {
  PortView port;
  port.name = name;
  port.kind = kind;
  port.dtype = type;
  port.element_bytes = port.alignment = dtype_bytes(type);
  port.shape = shape;
  return port;
}

}  // namespace

PortView tensor_in(const char* name, const char* shape, DType type) {
  return tensor_port(name, shape, type, PortKind::kPerElement);
}
PortView tensor_out(const char* name, const char* shape, DType type) {
  return tensor_port(name, shape, type, PortKind::kStore);
}
PortView states_out(const char* name, const char* shape, int64_t bytes) {
  PortView port = tensor_out(name, shape, DType::kState);
  port.element_bytes = bytes;
  return port;
}
PortView optional(PortView port) {
  port.optional = true;
  return port;
}
PortView updated(PortView port) {
  port.updated = true;
  return port;
}

int64_t draw_tokens(Random& random) {
  switch (random.between(0, 6)) {
    case 0: return random.between(0, 1);
    case 1: return random.between(1, 9);
    case 2: return 64 * random.between(1, 4);
    case 3: return random.between(200, 700);
    default: return random.between(1, 150);
  }
}

int64_t draw_hidden(Random& random, int64_t tokens) {
  constexpr int64_t kElements = 60000;  // of a case, so that its fp64 formula stays quick
  const int64_t most = std::clamp<int64_t>(kElements / std::max<int64_t>(tokens, 1), 64, 8192);
  switch (random.between(0, 5)) {
    case 0: return random.between(1, 16);
    case 1: return random.between(1, most);
    case 2: return 64 * random.between(1, std::max<int64_t>(most / 64, 1));
    case 3: return std::min(most, random.pick(std::array<int64_t, 5>{80, 576, 2880, 5120, 8192}));
    default: return 8 * random.between(1, std::min<int64_t>(most / 8, 80));
  }
}

Extent draw_extent(const DrawRequest& request) {
  if (request.size != nullptr) return {request.size->M, request.size->N};
  const int64_t tokens = draw_tokens(request.random);
  return {tokens, draw_hidden(request.random, tokens)};
}

}  // namespace coda::catalogue
