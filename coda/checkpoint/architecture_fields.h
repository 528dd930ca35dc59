// config.json in the words of one architecture: Llama and its relatives, or GPT-2. model_config.cpp
// adds what all of them have.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "coda/checkpoint/json_text.h"
#include "coda/checkpoint/model_config.h"

namespace coda::checkpoint {

ModelConfig read_llama_fields(const JsonFields& fields, Family family);
void validate_llama(const ModelConfig& config, const std::string& where);
void write_llama_fields(const ModelConfig& config, nlohmann::ordered_json& json);

ModelConfig read_gpt2_fields(const JsonFields& fields);
void validate_gpt2(const ModelConfig& config, const std::string& where);
void write_gpt2_fields(const ModelConfig& config, nlohmann::ordered_json& json);

inline constexpr int64_t kLargestSize = INT32_MAX;  // indices of programs
inline constexpr int64_t kMostLayers = 10000;  // their names alone would fill the memory beyond

// A number of heads or columns that must be there and positive: later ones are computed from it.
int64_t read_size(const JsonFields& fields, const char* field);

// "<where>: '<field>' is <value>; expected <expected>"
[[noreturn]] void fail_field(const std::string& where, const char* field, const std::string& value,
                             const std::string& expected);
void check_size(const std::string& where, const char* field, int64_t value, int64_t largest);
void check_epsilon(const std::string& where, const char* field, double value);

}  // namespace coda::checkpoint
