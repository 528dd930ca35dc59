// config.json of every family as `transformers` writes it, with its defaults, and written again.
#include "coda/checkpoint/model_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

using Json = nlohmann::json;

Json sizes(const std::string& type) {
  return {{"model_type", type},       {"hidden_size", 64},         {"intermediate_size", 96},
          {"num_hidden_layers", 3},   {"num_attention_heads", 32}, {"vocab_size", 1000},
          {"sliding_window", nullptr}};
}

ModelConfig parse(const Json& json) { return parse_model_config(json.dump(), "config.json"); }

TEST(ModelConfig, TakesTheDefaultsOfTransformers) {
  const ModelConfig llama = parse(sizes("llama"));
  EXPECT_EQ(llama.family, Family::kLlama);
  EXPECT_EQ(llama.hidden_size, 64);
  EXPECT_EQ(llama.intermediate_size, 96);
  EXPECT_EQ(llama.num_hidden_layers, 3);
  EXPECT_EQ(llama.num_attention_heads, 32);
  EXPECT_EQ(llama.num_key_value_heads, 32);
  EXPECT_EQ(llama.head_dim, 2);
  EXPECT_EQ(llama.vocab_size, 1000);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.norm_epsilon, 1e-6);
  EXPECT_EQ(llama.rope, Rope{});
  EXPECT_EQ(llama.rope.theta, 10000);
  EXPECT_FALSE(llama.tie_word_embeddings);
  EXPECT_FALSE(llama.qkv_bias() || llama.output_bias() || llama.qk_norm());
  EXPECT_EQ(llama.dtype, DType::kFp32);
  EXPECT_FALSE(llama.bos_token_id);
  EXPECT_TRUE(llama.eos_token_ids.empty());

  const ModelConfig mistral = parse(sizes("mistral"));
  EXPECT_EQ(mistral.num_key_value_heads, 8);
  EXPECT_EQ(mistral.max_position_embeddings, 131072);
  EXPECT_EQ(mistral.head_dim, 2);
  EXPECT_FALSE(mistral.sliding_window);
  EXPECT_EQ(llama.initializer_range, 0.02);
  EXPECT_FALSE(llama.pad_token_id);

  const ModelConfig qwen2 = parse(sizes("qwen2"));
  EXPECT_EQ(qwen2.num_key_value_heads, 32);
  EXPECT_EQ(qwen2.max_position_embeddings, 32768);
  EXPECT_TRUE(qwen2.qkv_bias());
  EXPECT_FALSE(qwen2.output_bias() || qwen2.qk_norm());

  const ModelConfig qwen3 = parse(sizes("qwen3"));
  EXPECT_EQ(qwen3.head_dim, 128);
  EXPECT_TRUE(qwen3.qk_norm());
  EXPECT_FALSE(qwen3.qkv_bias() || qwen3.output_bias());
}

TEST(ModelConfig, TakesTheDefaultsOfGpt2) {
  const Json json = {{"model_type", "gpt2"}, {"n_embd", 64},        {"n_layer", 3},
                     {"n_head", 4},          {"vocab_size", 50257}, {"n_inner", nullptr}};
  const ModelConfig gpt2 = parse(json);
  EXPECT_TRUE(gpt2.is_gpt2());
  EXPECT_EQ(gpt2.hidden_size, 64);
  EXPECT_EQ(gpt2.intermediate_size, 256);
  EXPECT_EQ(gpt2.num_hidden_layers, 3);
  EXPECT_EQ(gpt2.num_attention_heads, 4);
  EXPECT_EQ(gpt2.num_key_value_heads, 4);
  EXPECT_EQ(gpt2.head_dim, 16);
  EXPECT_EQ(gpt2.vocab_size, 50257);
  EXPECT_EQ(gpt2.max_position_embeddings, 1024);
  EXPECT_EQ(gpt2.norm_epsilon, 1e-5);
  EXPECT_EQ(gpt2.activation, "gelu_new");
  EXPECT_TRUE(gpt2.tie_word_embeddings);
  EXPECT_EQ(gpt2.dropout, (Dropout{0.1, 0.1, 0.1}));
}

TEST(ModelConfig, OfGpt2IsReadAsItWasWritten) {
  Json json = {{"model_type", "gpt2"},
               {"n_embd", 64},
               {"n_layer", 3},
               {"n_head", 4},
               {"vocab_size", 7},
               {"n_positions", 33},
               {"n_inner", 90},
               {"layer_norm_epsilon", 1e-3},
               {"activation_function", "relu"},
               {"tie_word_embeddings", false},
               {"embd_pdrop", 0.0},
               {"resid_pdrop", 0.25},
               {"attn_pdrop", 0.5},
               {"dtype", "bfloat16"},
               {"bos_token_id", 1},
               {"eos_token_id", 2}};
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.intermediate_size, 90);
  EXPECT_EQ(config.max_position_embeddings, 33);
  EXPECT_EQ(config.norm_epsilon, 1e-3);
  EXPECT_EQ(config.activation, "relu");
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.dropout, (Dropout{0, 0.25, 0.5}));
  EXPECT_EQ(parse_model_config(to_json(config), "written"), config);
  json["n_inner"] = 256;  // written as null
  EXPECT_EQ(parse_model_config(to_json(parse(json)), "written"), parse(json));
}

TEST(ModelConfig, NullIsNotMissing) {
  Json json = sizes("mistral");
  json["num_key_value_heads"] = nullptr;
  json["head_dim"] = nullptr;
  json["rope_scaling"] = nullptr;
  json["eos_token_id"] = nullptr;
  EXPECT_EQ(parse(json).num_key_value_heads, 32);
  EXPECT_EQ(parse(json).head_dim, 2);
}

TEST(ModelConfig, ReadsEveryField) {
  Json json = sizes("llama");
  json.update({{"num_key_value_heads", 4},
               {"head_dim", 16},
               {"max_position_embeddings", 4096},
               {"rms_norm_eps", 1e-5},
               {"rope_theta", 500000},
               {"tie_word_embeddings", true},
               {"attention_bias", true},
               {"torch_dtype", "bfloat16"},
               {"bos_token_id", 1},
               {"eos_token_id", {2, 3}},
               {"unknown_to_us", {1, 2}}});
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.num_key_value_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.max_position_embeddings, 4096);
  EXPECT_EQ(config.norm_epsilon, 1e-5);
  EXPECT_EQ(config.rope.theta, 500000);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_TRUE(config.qkv_bias() && config.output_bias());
  EXPECT_EQ(config.dtype, DType::kBf16);
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_EQ(config.eos_token_ids, (std::vector<int64_t>{2, 3}));
  json["dtype"] = "float16";  // what transformers 5 calls it
  json["eos_token_id"] = 7;
  EXPECT_EQ(parse(json).dtype, DType::kFp16);
  EXPECT_EQ(parse(json).eos_token_ids, std::vector<int64_t>{7});
}

const Json kLlama3 = {{"factor", 8.0},
                      {"low_freq_factor", 1.5},
                      {"high_freq_factor", 4.5},
                      {"original_max_position_embeddings", 256}};
const Rope kLlama3Rope = {.theta = 500000,
                          .scaling = RopeScaling::kLlama3,
                          .factor = 8,
                          .low_freq_factor = 1.5,
                          .high_freq_factor = 4.5,
                          .original_max_position_embeddings = 256};

TEST(ModelConfig, ReadsRotationsOfBothGenerations) {
  Json older = sizes("llama");
  older["rope_theta"] = 500000;
  older["rope_scaling"] = kLlama3;
  older["rope_scaling"]["rope_type"] = "llama3";
  EXPECT_EQ(parse(older).rope, kLlama3Rope);

  Json newer = sizes("llama");
  newer["rope_parameters"] = older["rope_scaling"];
  newer["rope_parameters"]["rope_theta"] = 500000;
  EXPECT_EQ(parse(newer).rope, kLlama3Rope);
  newer["rope_theta"] = 3;  // the one within counts
  EXPECT_EQ(parse(newer).rope, kLlama3Rope);
  newer["rope_parameters"].erase("original_max_position_embeddings");
  EXPECT_EQ(parse(newer).rope.original_max_position_embeddings, 2048);

  Json oldest = sizes("llama");
  oldest["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  EXPECT_EQ(parse(oldest).rope, (Rope{.scaling = RopeScaling::kLinear, .factor = 2}));
  oldest["rope_scaling"] = {{"rope_type", "default"}};
  EXPECT_EQ(parse(oldest).rope, Rope{});
  oldest["rope_scaling"] = Json::object();  // counts as none
  oldest["rope_parameters"] = {{"rope_theta", 7.0}};
  EXPECT_EQ(parse(oldest).rope, Rope{.theta = 7});
}

TEST(ModelConfig, IsReadAsItWasWritten) {
  for (const Family family : {Family::kLlama, Family::kMistral, Family::kQwen2, Family::kQwen3}) {
    ModelConfig config = parse(sizes(model_type(family)));
    EXPECT_EQ(parse_model_config(to_json(config), "written"), config);
    config.rope = kLlama3Rope;
    config.norm_epsilon = 1e-5;
    config.tie_word_embeddings = true;
    config.attention_bias = family == Family::kLlama || family == Family::kQwen3;
    config.dtype = DType::kBf16;
    config.head_dim = 6;
    config.num_key_value_heads = 16;
    config.max_position_embeddings = 77;
    config.bos_token_id = 0;
    config.eos_token_ids = {5};
    EXPECT_EQ(parse_model_config(to_json(config), "written"), config);
    config.rope = {.theta = 12345.678, .scaling = RopeScaling::kLinear, .factor = 2.5};
    config.eos_token_ids = {5, 6};
    EXPECT_EQ(parse_model_config(to_json(config), "written"), config);
  }
}

// From the description of each scaling, in wavelengths.
TEST(ModelConfig, Frequencies) {
  ModelConfig config = parse(sizes("llama"));
  config.head_dim = 64;
  config.rope.theta = 500000;
  const auto plain = config.inverse_frequencies();
  ASSERT_EQ(plain.size(), 32u);
  EXPECT_EQ(plain[0], 1.0f);
  for (int i = 0; i < 32; ++i) {
    EXPECT_FLOAT_EQ(plain[i], static_cast<float>(std::exp(-i / 32.0 * std::log(500000.0)))) << i;
  }
  config.rope = {.theta = 500000, .scaling = RopeScaling::kLinear, .factor = 4};
  for (int i = 0; i < 32; ++i) EXPECT_EQ(config.inverse_frequencies()[i], plain[i] / 4);

  config.rope = kLlama3Rope;
  int kept = 0, stretched = 0, mixed = 0;
  for (int i = 0; i < 32; ++i) {
    const double wave = 2 * M_PI / plain[i];
    double expected = 1 / wave;
    if (wave > 256 / 1.5) {
      expected /= 8;
      ++stretched;
    } else if (wave < 256 / 4.5) {
      ++kept;
    } else {
      const double smooth = (256 / wave - 1.5) / (4.5 - 1.5);
      expected = (1 - smooth) / (8 * wave) + smooth / wave;
      ++mixed;
    }
    EXPECT_FLOAT_EQ(config.inverse_frequencies()[i], static_cast<float>(2 * M_PI * expected)) << i;
  }
  EXPECT_TRUE(kept > 0 && stretched > 0 && mixed > 1);
}

TEST_F(InFolder, ConfigIsReadFromAFile) {
  write_all(folder_ / "config.json", sizes("qwen2").dump());
  EXPECT_EQ(read_model_config(folder_ / "config.json").family, Family::kQwen2);
  expect_error([&] { read_model_config(folder_ / "none"); }, {folder_ / "none", "No such file"});
  expect_error([&] { read_model_config(folder_.path()); }, {folder_.path(), "regular file"});
  write_all(folder_ / "config.json", "{\"model_type\":");
  expect_error([&] { read_model_config(folder_ / "config.json"); },
               {folder_ / "config.json", "not valid JSON"});
}

}  // namespace
}  // namespace coda::checkpoint
