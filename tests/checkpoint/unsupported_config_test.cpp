// Configurations of other models, and impossible ones: refused with field, value and what is
// supported.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/parameter_names.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

using Json = nlohmann::json;

const Json kGood = {{"model_type", "llama"},
                    {"hidden_size", 64},
                    {"intermediate_size", 96},
                    {"num_hidden_layers", 3},
                    {"num_attention_heads", 8},
                    {"num_key_value_heads", 2},
                    {"vocab_size", 1000},
                    {"rope_theta", 10000.0},
                    {"rms_norm_eps", 1e-6},
                    {"eos_token_id", 2},
                    {"max_position_embeddings", 8192}};

const Json kGpt2 = {{"model_type", "gpt2"}, {"n_embd", 64},  {"n_layer", 3},
                    {"n_head", 4},          {"n_inner", 96}, {"vocab_size", 1000}};

void refused(const Json& changes, std::initializer_list<std::string> texts,
             const Json& good = kGood) {
  Json json = good;
  json.update(changes);
  expect_error([&] { parse_model_config(json.dump(), "some/config.json"); }, {"some/config.json"});
  expect_error([&] { parse_model_config(json.dump(), "some/config.json"); }, texts);
}

TEST(UnsupportedConfig, OtherArchitectures) {
  parse_model_config(kGood.dump(), "");
  refused({{"model_type", "opt"}},
          {"'model_type' is \"opt\"", "llama, mistral, qwen2, qwen3 and gpt2"});
  refused({{"model_type", nullptr}}, {"'model_type' is missing"});
  refused({{"hidden_act", "gelu"}}, {"'hidden_act' is \"gelu\"", "silu"});
  refused({{"mlp_bias", true}}, {"'mlp_bias' is true", "false"});
  refused({{"attention_dropout", 0.1}}, {"'attention_dropout' is 0.1", "0"});
  for (const Json& good : {kGood, kGpt2}) {
    refused({{"is_causal", false}}, {"'is_causal' is false", "later tokens"}, good);
    refused({{"is_causal", nullptr}}, {"'is_causal' is null", "expected true"}, good);
    refused({{"initializer_range", -1}}, {"'initializer_range' is -1", "0 or more"}, good);
    refused({{"pad_token_id", "x"}}, {"'pad_token_id' is \"x\""}, good);
  }
  refused({{"quantization_config", {{"bits", 4}}}}, {"'quantization_config' is {\"bits\":4}"});
  refused({{"torch_dtype", "float64"}}, {"'torch_dtype' is \"float64\"", "bfloat16"});
  refused({{"dtype", "int8"}}, {"'dtype' is \"int8\"", "bfloat16"});
}

TEST(UnsupportedConfig, Rotations) {
  refused({{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}}},
          {"'rope_scaling.rope_type' is \"yarn\"", "default, linear and llama3"});
  refused({{"rope_scaling", {{"type", "dynamic"}}}}, {"'rope_scaling.type' is \"dynamic\""});
  refused({{"rope_parameters", {{"rope_type", "longrope"}}}}, {"'rope_parameters.rope_type'"});
  refused({{"rope_scaling", {{"rope_type", "linear"}}}}, {"'rope_scaling.factor' is missing"});
  refused({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 0}}}}, {"'factor' is 0"});
  refused({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}}}},
          {"'rope_scaling.high_freq_factor' is missing"});
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8},
                       {"low_freq_factor", 4},
                       {"high_freq_factor", 4},
                       {"original_max_position_embeddings", 64}};
  refused({{"rope_scaling", llama3}}, {"'high_freq_factor' is 4", "more than low_freq_factor"});
  refused({{"rope_parameters", {{"full_attention", llama3}}}}, {"'rope_parameters'", "all layers"});
  refused({{"partial_rotary_factor", 0.5}}, {"'partial_rotary_factor' is 0.5", "1"});
  refused({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}},
          {"'rope_parameters.partial_rotary_factor' is 0.5"});
  refused({{"rope_scaling", "linear"}}, {"'rope_scaling'", "JSON object"});
  refused({{"rope_theta", -1}}, {"'rope_theta' is -1"});
}

// With another number of heads no tensor has another shape.
TEST(UnsupportedConfig, TwoNamesThatSayDifferentThings) {
  refused({{"num_attention_heads", 8}}, {"'num_attention_heads' is 8", "expected 4", "'n_head'"},
          kGpt2);
  refused({{"hidden_size", 32}}, {"'hidden_size' is 32", "expected 64", "'n_embd'"}, kGpt2);
  Json fine = kGpt2;
  fine.update({{"num_attention_heads", 4}, {"max_position_embeddings", 77}});
  EXPECT_EQ(parse_model_config(fine.dump(), "").max_position_embeddings, 77);
}

TEST(UnsupportedConfig, Windows) {
  refused(
      {{"model_type", "mistral"}, {"sliding_window", 4096}},
      {"'sliding_window' is 4096", "8192 positions", "null", "max_position_embeddings to 4096"});
  refused({{"model_type", "mistral"}}, {"'sliding_window' is missing", "4096 of 8192"});
  refused({{"model_type", "qwen2"}, {"use_sliding_window", true}},
          {"'use_sliding_window' is true", "set it to false"});
  refused({{"model_type", "qwen3"}, {"layer_types", {"full_attention", "sliding_attention"}}},
          {"'layer_types' is [\"full_attention\",\"sliding_attention\"]", "full_attention alone"});
  Json fine = kGood;
  fine.update({{"model_type", "mistral"}, {"sliding_window", 8192}});
  parse_model_config(fine.dump(), "");
  fine.update({{"model_type", "qwen2"}, {"sliding_window", 16}, {"use_sliding_window", false}});
  parse_model_config(fine.dump(), "");
}

TEST(UnsupportedConfig, Sizes) {
  for (const char* field : {"hidden_size", "intermediate_size", "num_hidden_layers",
                            "num_attention_heads", "vocab_size"}) {
    const std::string name = std::string("'") + field + "'";
    refused({{field, nullptr}}, {name + " is missing", "integer"});
    refused({{field, 0}}, {name + " is 0", "1 or more"});
    refused({{field, "64"}}, {name + " is \"64\"", "integer"});
    refused({{field, 64.5}}, {name + " is 64.5", "integer"});
    refused({{field, 1e30}}, {name, "integer"});
    refused({{field, UINT64_MAX}}, {name, "integer"});
  }
  for (const char* field :
       {"num_key_value_heads", "head_dim", "max_position_embeddings", "vocab_size"}) {
    refused({{field, INT64_MAX}}, {std::string("'") + field + "'", "1 to "});
    refused({{field, -2}}, {std::string("'") + field + "' is -2"});
  }
  refused({{"num_hidden_layers", 10001}}, {"'num_hidden_layers' is 10001", "1 to 10000"});
  refused({{"num_key_value_heads", 3}}, {"'num_key_value_heads' is 3", "divisor", "8"});
  refused({{"hidden_size", 60}}, {"'hidden_size' is 60", "multiple of num_attention_heads, 8"});
  refused({{"head_dim", 7}}, {"'head_dim' is 7", "even"});
  refused({{"rms_norm_eps", 0}}, {"'rms_norm_eps' is 0", "more than 0"});
  refused({{"rms_norm_eps", "1e-6"}}, {"'rms_norm_eps' is \"1e-6\"", "number"});
  refused({{"tie_word_embeddings", 1}}, {"'tie_word_embeddings' is 1", "true or false"});
  refused({{"eos_token_id", {1, "a"}}}, {"'eos_token_id' is [1,\"a\"]"});
  refused({{"eos_token_id", {1, UINT64_MAX}}}, {"'eos_token_id' is [1,18446744073709551615]"});
  refused({{"bos_token_id", "a"}}, {"'bos_token_id' is \"a\""});
}

TEST(UnsupportedConfig, OfGpt2) {
  parse_model_config(kGpt2.dump(), "");
  const auto expect = [](const Json& changes, std::initializer_list<std::string> texts) {
    refused(changes, texts, kGpt2);
  };
  for (const char* field : {"n_embd", "n_layer", "n_head", "vocab_size"}) {
    const std::string name = std::string("'") + field + "'";
    expect({{field, nullptr}}, {name + " is missing", "integer"});
    expect({{field, 0}}, {name + " is 0", "1 or more"});
    expect({{field, "64"}}, {name + " is \"64\"", "integer"});
  }
  expect({{"n_inner", 0}}, {"'n_inner' is 0", "1 to "});
  expect({{"n_positions", -1}}, {"'n_positions' is -1", "1 to "});
  expect({{"n_embd", INT64_MAX - 3}}, {"'n_embd' is ", "1 to "});
  expect({{"n_layer", 10001}}, {"'n_layer' is 10001", "1 to 10000"});
  expect({{"n_head", 5}}, {"'n_embd' is 64", "multiple of n_head, 5"});
  expect({{"n_head", 64}}, {"'n_head' is 64", "even number of columns, not of 1"});
  expect({{"layer_norm_epsilon", 0}}, {"'layer_norm_epsilon' is 0", "more than 0"});
  expect({{"activation_function", "mish"}},
         {"'activation_function' is \"mish\"", "gelu_new", "relu"});
  expect({{"scale_attn_weights", false}}, {"'scale_attn_weights' is false", "scale"});
  expect({{"scale_attn_by_inverse_layer_idx", true}},
         {"'scale_attn_by_inverse_layer_idx' is true", "not supported"});
  expect({{"reorder_and_upcast_attn", true}}, {"'reorder_and_upcast_attn' is true", "false"});
  expect({{"add_cross_attention", true}}, {"'add_cross_attention' is true", "not supported"});
  for (const char* field : {"embd_pdrop", "resid_pdrop", "attn_pdrop"}) {
    expect({{field, 1}}, {std::string("'") + field + "' is 1", "below 1"});
    expect({{field, -0.1}}, {std::string("'") + field + "' is -0.1", "below 1"});
    expect({{field, "none"}}, {std::string("'") + field + "'", "number"});
  }
  expect({{"tie_word_embeddings", 1}}, {"'tie_word_embeddings' is 1", "true or false"});
  expect({{"quantization_config", {{"bits", 4}}}}, {"'quantization_config'"});
}

TEST(UnsupportedConfig, WrittenOnes) {
  ModelConfig config = parse_model_config(kGood.dump(), "");
  config.rope.theta = std::numeric_limits<double>::infinity();
  expect_error([&] { to_json(config); }, {"'rope_theta' is inf"});
  config = parse_model_config(kGood.dump(), "");
  config.family = Family::kQwen2;
  config.attention_bias = true;
  expect_error([&] { to_json(config); }, {"'attention_bias' is true", "qwen2"});
  config = parse_model_config(kGood.dump(), "");
  config.activation = "gelu";
  expect_error([&] { to_json(config); }, {"'hidden_act' is gelu", "silu"});
  config = parse_model_config(kGpt2.dump(), "");
  config.num_key_value_heads = 2;
  expect_error([&] { to_json(config); }, {"'n_head' is 4"});
  config = parse_model_config(kGpt2.dump(), "");
  config.attention_bias = true;
  expect_error([&] { to_json(config); }, {"'attention_bias' is true", "gpt2"});
  config = parse_model_config(kGood.dump(), "");
  config.dtype = DType::kInt64;
  expect_error([&] { to_json(config); }, {"'dtype'", "int64"});
}

// Whatever comes: a configuration whose names can be listed, or an error.
RC_GTEST_PROP(UnsupportedConfigProperty, OtherValuesNeverCrash, ()) {
  const std::vector<Json> values = {nullptr,   true, -1, 0,   3,          1e308,    UINT64_MAX,
                                    INT64_MAX, "x",  "", {1}, {{"a", 1}}, "llama3", "qwen3"};
  Json json = *rc::gen::element(kGood, kGpt2);
  json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}};
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    auto at = json.begin();
    std::advance(at, *rc::gen::inRange<size_t>(0, json.size()));
    *at = *rc::gen::elementOf(values);
  }
  try {
    const ModelConfig config = parse_model_config(json.dump(), "config");
    RC_ASSERT(parameter_names(config).size() >= 11u);
    RC_ASSERT(parse_model_config(to_json(config), "again") == config);
  } catch (const Error& error) {
    RC_ASSERT(std::string(error.what()).starts_with("config: "));
  }
}

RC_GTEST_PROP(UnsupportedConfigProperty, FlippedBytesNeverCrash, ()) {
  std::string text = kGood.dump();
  text[*rc::gen::inRange<size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  text.resize(*rc::gen::inRange<size_t>(0, text.size() + 1));
  try {
    parse_model_config(text, "config");
  } catch (const Error& error) {
    RC_ASSERT(std::string(error.what()).starts_with("config: "));
  }
}

}  // namespace
}  // namespace coda::checkpoint
