// JSON that comes from files of others, and its fields with their types checked.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace coda::checkpoint {

// Text of a regular file of at most 100 MB. Throws coda::Error with the path and the reason.
std::string read_text(const std::string& path);

// Throws coda::Error beginning with `where` for what is not JSON, nests deeper than any file of
// models, or has a name twice in one object (parsers differ in which of the two counts).
nlohmann::json parse_json(std::string_view text, const std::string& where);

// A value in an error message: as JSON, cut where it is long.
std::string json_text(const nlohmann::json& value);

// None where the value is no integer, or one that does not fit.
std::optional<int64_t> integer_in(const nlohmann::json& value);

// An object's fields; one that is null counts as missing. Errors name `where`, the field (with the
// object's own name before it), its value and what is expected.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string where, std::string prefix = "");

  bool has(const std::string& field) const;
  bool is_null(const std::string& field) const;              // there, but null
  const nlohmann::json& at(const std::string& field) const;  // null where it is missing

  // Without `otherwise` the field must be there.
  int64_t integer(const std::string& field, std::optional<int64_t> otherwise = {}) const;
  double number(const std::string& field, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& field, bool otherwise) const;
  std::string text(const std::string& field, std::optional<std::string> otherwise = {}) const;
  JsonFields object(const std::string& field) const;

  // "<where>: '<field>' is <value>; <expected>"
  [[noreturn]] void fail(const std::string& field, const std::string& expected) const;

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::string prefix_;
};

}  // namespace coda::checkpoint
