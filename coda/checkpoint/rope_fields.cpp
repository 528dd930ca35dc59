#include "coda/checkpoint/rope_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

constexpr const char* kOriginal = "original_max_position_embeddings";

const char* scaling_name(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone: return "default";
    case RopeScaling::kLinear: return "linear";
    case RopeScaling::kLlama3: return "llama3";
  }
  return "unknown";
}

RopeScaling read_scaling(const JsonFields& fields) {
  const char* field = fields.has("rope_type") ? "rope_type" : "type";
  const std::string name = fields.text(field, "default");
  for (const auto scaling : {RopeScaling::kNone, RopeScaling::kLinear, RopeScaling::kLlama3}) {
    if (name == scaling_name(scaling)) return scaling;
  }
  fields.fail(field, "supported are default, linear and llama3");
}

void refuse_partial_rotation(const JsonFields& fields) {
  if (fields.number("partial_rotary_factor", 1) != 1) {
    fields.fail("partial_rotary_factor", "supported is 1");
  }
}

nlohmann::ordered_json scaling_fields(const Rope& rope) {
  nlohmann::ordered_json fields;
  fields["rope_type"] = scaling_name(rope.scaling);
  if (rope.scaling != RopeScaling::kNone) fields["factor"] = rope.factor;
  if (rope.scaling == RopeScaling::kLlama3) {
    fields["low_freq_factor"] = rope.low_freq_factor;
    fields["high_freq_factor"] = rope.high_freq_factor;
    fields[kOriginal] = rope.original_max_position_embeddings;
  }
  return fields;
}

}  // namespace

Rope read_rope(const JsonFields& config, int64_t max_position_embeddings) {
  Rope rope;
  rope.theta = config.number("rope_theta", rope.theta);
  refuse_partial_rotation(config);
  const char* field = config.at("rope_scaling").empty() ? "rope_parameters" : "rope_scaling";
  if (!config.has(field)) return rope;
  const JsonFields fields = config.object(field);
  for (const auto& value : config.at(field)) {
    if (value.is_object()) config.fail(field, "supported are the same ones in all layers");
  }
  rope.theta = fields.number("rope_theta", rope.theta);
  refuse_partial_rotation(fields);
  rope.scaling = read_scaling(fields);
  if (rope.scaling != RopeScaling::kNone) rope.factor = fields.number("factor");
  if (rope.scaling == RopeScaling::kLlama3) {
    rope.low_freq_factor = fields.number("low_freq_factor");
    rope.high_freq_factor = fields.number("high_freq_factor");
    rope.original_max_position_embeddings =
        config.integer(kOriginal, fields.integer(kOriginal, max_position_embeddings));
  }
  return rope;
}

void validate(const Rope& rope, const std::string& where) {
  const auto check = [&](bool holds, const char* field, double value, const char* expected) {
    if (holds && std::isfinite(value)) return;
    throw Error(fmt::format("{}: '{}' is {}; expected {}", where, field, value, expected));
  };
  check(rope.theta > 0, "rope_theta", rope.theta, "more than 0");
  if (rope.scaling == RopeScaling::kNone) return;
  check(rope.factor > 0, "factor", rope.factor, "more than 0");
  if (rope.scaling == RopeScaling::kLinear) return;
  check(rope.low_freq_factor > 0, "low_freq_factor", rope.low_freq_factor, "more than 0");
  check(rope.high_freq_factor > rope.low_freq_factor, "high_freq_factor", rope.high_freq_factor,
        "more than low_freq_factor");
  check(rope.original_max_position_embeddings > 0, kOriginal,
        static_cast<double>(rope.original_max_position_embeddings), "more than 0");
}

void write_rope(const Rope& rope, nlohmann::ordered_json& config) {
  config["rope_theta"] = rope.theta;
  config["rope_scaling"] = nullptr;
  if (rope.scaling != RopeScaling::kNone) config["rope_scaling"] = scaling_fields(rope);
  config["rope_parameters"] = scaling_fields(rope);
  config["rope_parameters"]["rope_theta"] = rope.theta;
}

}  // namespace coda::checkpoint
