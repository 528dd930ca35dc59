#include "coda/catalogue/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coda/core/edit_distance.h"
#include "coda/core/error.h"

namespace coda::catalogue {
namespace {

constexpr size_t kLongestShown = 64;  // of a name in a message

// Cut between two characters of UTF-8.
std::string shortened(std::string_view name) {
  if (name.size() <= kLongestShown) return std::string(name);
  size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}...", name.substr(0, end));
}

[[noreturn]] void fail_name(const std::string& what, std::string_view name,
                            const std::vector<std::string>& known) {
  std::string remedy = fmt::format("there are {}", fmt::join(known, ", "));
  if (!known.empty() && name.size() <= kLongestShown) {
    const auto nearest = std::ranges::min_element(known, {}, [&](const std::string& other) {
      return edit_distance(std::string(name), other);
    });
    // Farther than half of its letters is no misspelling.
    if (2 * edit_distance(std::string(name), *nearest) <= nearest->size()) {
      remedy = fmt::format("did you mean '{}'? {}", *nearest, remedy);
    }
  }
  throw Error(fmt::format("no {} '{}'; {}", what, shortened(name), remedy));
}

template <class Range, class Name>
std::vector<std::string> names_of(const Range& range, Name name) {
  std::vector<std::string> result(range.size());
  std::ranges::transform(range, result.begin(), name);
  return result;
}

}  // namespace

const Operation& find_operation(std::string_view name) {
  for (const Operation* operation : operations()) {
    if (operation->name == name) return *operation;
  }
  fail_name("operation", name, names_of(operations(), [](const Operation* o) { return o->name; }));
}

const Variant& find_variant(const Operation& operation, std::string_view name) {
  for (const Variant& variant : operation.variants) {
    if (variant.name == name) return variant;
  }
  fail_name(fmt::format("variant of {}", operation.name), name,
            names_of(operation.variants, [](const Variant& v) { return v.name; }));
}

}  // namespace coda::catalogue
