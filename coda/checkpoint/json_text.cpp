#include "coda/checkpoint/json_text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

constexpr int64_t kMaxTextBytes = 100'000'000;
constexpr int kMaxDepth = 16;

using Json = nlohmann::json;

}  // namespace

std::string read_text(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    throw Error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(fmt::format("cannot read '{}': it is not a regular file", path));
  }
  if (status.st_size > kMaxTextBytes) {
    throw Error(fmt::format("cannot read '{}': {} bytes, expected a text of at most {}", path,
                            status.st_size, kMaxTextBytes));
  }
  std::string text(static_cast<size_t>(status.st_size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw Error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  }
  return text;
}

Json parse_json(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMaxDepth) {
      throw Error(fmt::format("{}: JSON nested more than {} deep", where, kMaxDepth));
    }
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.back().insert(name).second) {
        throw Error(fmt::format("{}: '{}' is there twice", where, name));
      }
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    throw Error(fmt::format("{}: not valid JSON, at byte {}", where, error.byte));
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: not valid JSON: {}", where, error.what()));
  }
}

std::string json_text(const Json& value) {
  constexpr size_t kLongest = 80;
  const std::string text = value.dump(-1, ' ', true);  // ASCII, so that it may be cut anywhere
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

std::optional<int64_t> integer_in(const Json& value) {
  const bool fits =
      value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX : value.is_number_integer();
  if (!fits) return std::nullopt;
  return value.get<int64_t>();
}

JsonFields::JsonFields(const Json& object, std::string where, std::string prefix)
    : object_(object), where_(std::move(where)), prefix_(std::move(prefix)) {
  if (!object_.is_object()) {
    throw Error(fmt::format("{}: {}expected a JSON object, got {}", where_,
                            prefix_.empty() ? "" : "'" + prefix_ + "': ", json_text(object_)));
  }
}

bool JsonFields::has(const std::string& field) const { return !at(field).is_null(); }

bool JsonFields::is_null(const std::string& field) const {
  return object_.contains(field) && at(field).is_null();
}

const Json& JsonFields::at(const std::string& field) const {
  static const Json kMissing;
  const auto found = object_.find(field);
  return found == object_.end() ? kMissing : *found;
}

int64_t JsonFields::integer(const std::string& field, std::optional<int64_t> otherwise) const {
  const Json& value = at(field);
  if (value.is_null() && otherwise) return *otherwise;
  const auto integer = integer_in(value);
  if (!integer) fail(field, "expected an integer");
  return *integer;
}

double JsonFields::number(const std::string& field, std::optional<double> otherwise) const {
  const Json& value = at(field);
  if (value.is_null() && otherwise) return *otherwise;
  if (!value.is_number() || !std::isfinite(value.get<double>())) fail(field, "expected a number");
  return value.get<double>();
}

bool JsonFields::flag(const std::string& field, bool otherwise) const {
  const Json& value = at(field);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) fail(field, "expected true or false");
  return value.get<bool>();
}

std::string JsonFields::text(const std::string& field, std::optional<std::string> otherwise) const {
  const Json& value = at(field);
  if (value.is_null() && otherwise) return *otherwise;
  if (!value.is_string()) fail(field, "expected a string");
  return value.get<std::string>();
}

JsonFields JsonFields::object(const std::string& field) const {
  return {at(field), where_, prefix_ + field};
}

void JsonFields::fail(const std::string& field, const std::string& expected) const {
  const std::string name = prefix_.empty() ? field : prefix_ + "." + field;
  const Json& value = at(field);
  throw Error(fmt::format("{}: '{}' is {}; {}", where_, name,
                          value.is_null() ? "missing" : json_text(value), expected));
}

}  // namespace coda::checkpoint
