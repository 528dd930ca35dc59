#include "coda/checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coda/checkpoint/json_text.h"
#include "coda/checkpoint/named_shape.h"
#include "coda/checkpoint/tensor_type.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

constexpr const char* kMetadata = "__metadata__";

int64_t unsigned_integer(const nlohmann::json& value) {  // -1 where it is none that fits
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) return -1;
  return value.get<int64_t>();
}

std::vector<int64_t> read_shape(const JsonFields& fields) {
  const nlohmann::json& extents = fields.at("shape");
  if (!extents.is_array()) fields.fail("shape", "expected a list of extents");
  std::vector<int64_t> shape;
  for (const auto& extent : extents) {
    shape.push_back(unsigned_integer(extent));
    if (shape.back() < 0) fields.fail("shape", "expected extents of 0 or more");
  }
  return shape;
}

TensorEntry read_entry(const JsonFields& fields) {
  TensorEntry entry{.dtype = fields.text("dtype"), .shape = read_shape(fields)};
  const auto element = element_bits(entry.dtype);
  if (!element) fields.fail("dtype", "no such type is known");
  int64_t bits = *element;
  for (const int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(bits, extent, &bits)) {
      fields.fail("shape", "more elements than any file holds");
    }
  }
  const nlohmann::json& offsets = fields.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    fields.fail("data_offsets", "expected [begin, end]");
  }
  entry.begin = unsigned_integer(offsets[0]);
  entry.end = unsigned_integer(offsets[1]);
  if (entry.begin < 0 || entry.end < entry.begin) {
    fields.fail("data_offsets", "expected [begin, end] with 0 <= begin <= end");
  }
  if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin) {
    fields.fail("data_offsets",
                fmt::format("{} bytes, but {} of {} takes {} bits", entry.end - entry.begin,
                            shape_text(entry.shape), entry.dtype, bits));
  }
  return entry;
}

// The end of the last tensor; throws where they overlap or leave gaps.
int64_t check_contiguous(const SafetensorsHeader& header, const std::string& where) {
  struct Span {
    int64_t begin, end;
    const std::string* name;
  };
  std::vector<Span> spans;
  for (const auto& [name, entry] : header.tensors) spans.push_back({entry.begin, entry.end, &name});
  std::ranges::sort(spans, {}, [](const Span& span) { return std::pair(span.begin, span.end); });
  int64_t end = 0;
  for (const Span& span : spans) {
    if (span.begin != end) {
      throw Error(fmt::format(
          "{}: tensor '{}' begins at byte {} of the data, expected {}: {}", where, *span.name,
          span.begin, end,
          span.begin < end ? "it overlaps the one before" : "the bytes between belong to none"));
    }
    end = span.end;
  }
  return end;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                           const std::string& where) {
  const nlohmann::json json = parse_json(text, where + ": header");
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    const JsonFields fields(value, where, name);
    if (name == kMetadata) {
      for (const auto& [key, unused] : value.items()) header.metadata[key] = fields.text(key);
    } else {
      header.tensors.emplace(name, read_entry(fields));
    }
  }
  const int64_t end = check_contiguous(header, where);
  if (end > data_bytes) {
    throw Error(fmt::format("{}: truncated: its tensors take {} bytes, and {} are there", where,
                            end, data_bytes));
  }
  if (end < data_bytes) {
    throw Error(
        fmt::format("{}: {} bytes after the last tensor belong to none", where, data_bytes - end));
  }
  return header;
}

}  // namespace coda::checkpoint
