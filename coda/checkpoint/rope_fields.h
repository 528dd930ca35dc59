// The fields of config.json that describe rotary embeddings: rope_theta and rope_scaling at the top
// (transformers 4), or all of them in rope_parameters (5).
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "coda/checkpoint/json_text.h"
#include "coda/checkpoint/rope.h"

namespace coda::checkpoint {

Rope read_rope(const JsonFields& config, int64_t max_position_embeddings);
void validate(const Rope& rope, const std::string& where);
void write_rope(const Rope& rope, nlohmann::ordered_json& config);  // both ways

}  // namespace coda::checkpoint
