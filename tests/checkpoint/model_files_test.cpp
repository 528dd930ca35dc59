// A model's folder: one file or shards, and its tensors beside those that are expected.
#include "coda/checkpoint/model_files.h"

#include <algorithm>

#include "coda/checkpoint/parameter_names.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

constexpr float kValues[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

class ModelFolder : public InFolder {
 protected:
  // Tensors of which each begins one value later.
  void shard(const std::string& file, const std::vector<NamedShape>& shapes) const {
    std::vector<TensorRecord> tensors;
    for (const auto& [name, shape] : shapes) {
      tensors.push_back(tensor_record(name, DType::kFp32, shape, kValues + tensors.size()));
    }
    write_safetensors(folder_ / file, tensors);
  }
  void index(const std::string& weight_map) const {
    write_all(folder_ / "model.safetensors.index.json",
              R"({"metadata":{"total_size":1},"weight_map":)" + weight_map + "}");
  }
  void refused(std::initializer_list<std::string> reasons) const {
    expect_error([&] { ModelFiles::open(folder_.path()); }, reasons);
  }
};

TEST_F(ModelFolder, OfOneFile) {
  shard("model.safetensors", {{"b", {2, 3}}, {"a", {4}}});
  const ModelFiles files = ModelFiles::open(folder_.path());
  EXPECT_EQ(files.shapes(), (std::vector<NamedShape>{{"a", {4}}, {"b", {2, 3}}}));
  EXPECT_TRUE(files.contains("a"));
  EXPECT_FALSE(files.contains("c"));
  std::vector<float> a(4);
  copy_elements(files.tensor("a"), a);
  EXPECT_EQ(a, (std::vector<float>{1, 2, 3, 4}));
  expect_error([&] { files.tensor("c"); }, {folder_.path(), "no tensor 'c'"});
}

TEST_F(ModelFolder, OfShards) {
  shard("s1.safetensors", {{"b", {2}}, {"c", {1}}});
  shard("s2.safetensors", {{"a", {3}}});
  index(R"({"a":"s2.safetensors","b":"s1.safetensors","c":"s1.safetensors"})");
  const ModelFiles files = ModelFiles::open(folder_.path());
  EXPECT_EQ(files.shapes(), (std::vector<NamedShape>{{"a", {3}}, {"b", {2}}, {"c", {1}}}));
  std::vector<float> a(3), c(1);
  copy_elements(files.tensor("a"), a);
  copy_elements(files.tensor("c"), c);
  EXPECT_EQ(a, (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(c[0], 1);
}

// A file of a model without its head leaves out what all other names begin with.
TEST_F(ModelFolder, WithoutAPrefix) {
  const NamedShape head = {"lm_head.weight", {4}};
  for (const std::string prefix : {"", "base."}) {
    shard("model.safetensors", {{prefix + "first", {2}}, {prefix + "h.0.x", {3}}, head});
    ModelFiles files = ModelFiles::open(folder_.path());
    files.complete_names("base.", "base.first");
    EXPECT_EQ(files.shapes(),
              (std::vector<NamedShape>{{"base.first", {2}}, {"base.h.0.x", {3}}, head}));
    EXPECT_EQ(files.tensor("base.h.0.x").name, "base.h.0.x");
    std::vector<float> x(3);
    copy_elements(files.tensor("base.h.0.x"), x);
    EXPECT_EQ(x, (std::vector<float>{1, 2, 3}));
  }
  ModelFiles other = ModelFiles::open(folder_.path());
  other.complete_names("model.", "model.first");  // another model's: as it is
  EXPECT_TRUE(other.contains("base.first"));
}

// The masks of old GPT-2 checkpoints are no parameters; biases are.
TEST_F(ModelFolder, WithMasks) {
  shard("model.safetensors", {{"h.0.attn.bias", {1, 1, 2, 2}},
                              {"h.0.attn.masked_bias", {1}},
                              {"h.0.attn.c_attn.bias", {3}}});
  const ModelFiles files = ModelFiles::open(folder_.path());
  files.check_against(std::vector<NamedShape>{{"h.0.attn.c_attn.bias", {3}}});
  expect_error([&] { files.check_against({}); }, {"unexpected: h.0.attn.c_attn.bias [3]"});
}

TEST_F(ModelFolder, WithoutWeights) {
  refused({folder_.path(), "neither model.safetensors nor"});
  expect_error([&] { ModelFiles::open(folder_ / "none"); }, {folder_ / "none", "No such file"});
  write_all(folder_ / "file", "");
  expect_error([&] { ModelFiles::open(folder_ / "file"); }, {"not a folder"});
}

TEST_F(ModelFolder, WithABadIndex) {
  shard("s1.safetensors", {{"a", {3}}});
  index(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  refused({folder_.path(), "shard 's2.safetensors'", "missing"});
  index(R"({"a":"s1.safetensors","b":"s1.safetensors"})");
  refused({folder_.path(), "tensor 'b' in 's1.safetensors'", "does not hold it"});
  shard("s2.safetensors", {{"b", {3}}});
  index(R"({"a":"s2.safetensors","b":"s2.safetensors","c":"s1.safetensors"})");
  refused({folder_.path(), "tensor 'a' in 's2.safetensors'", "does not hold it"});
  shard("s2.safetensors", {{"b", {3}}, {"a", {3}}});
  index(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  refused({"tensor 'a' is in two shards", "s1.safetensors", "s2.safetensors"});
  index(R"({"a":"../s1.safetensors"})");
  refused({"weight_map.a", "../s1.safetensors", "beside the index"});
  index(R"({"a":3})");
  refused({"weight_map.a", "3", "a string"});
  index("[]");
  refused({"'weight_map'", "JSON object"});
  write_all(folder_ / "model.safetensors.index.json", "{}");
  refused({"'weight_map'", "JSON object"});
  write_all(folder_ / "model.safetensors.index.json", "{");
  refused({"index.json", "not valid JSON"});
  shard("s2.safetensors", {{"b", {3}}});
  index(R"({"a":"s1.safetensors","b":"s2.safetensors"})");
  const std::string whole = read_all(folder_ / "s2.safetensors");
  write_all(folder_ / "s2.safetensors", whole.substr(0, whole.size() - 1));
  refused({"s2.safetensors", "truncated"});
}

TEST_F(ModelFolder, DisagreementsAreListedAtOnce) {
  shard("model.safetensors", {{"w", {2, 3}},
                              {"x", {1}},
                              {"good", {4}},
                              {"model.layers.0.self_attn.rotary_emb.inv_freq", {2}},
                              {"lm_head.weight", {2}}});
  const ModelFiles files = ModelFiles::open(folder_.path());
  const std::vector<NamedShape> right = {{"good", {4}}, {"w", {2, 3}}, {"x", {1}}};
  files.check_against(right);  // what is left over may be there
  const std::vector<NamedShape> expected = {{"v", {5}}, {"w", {3, 2}}, {"good", {4}}, {"u", {}}};
  expect_error([&] { files.check_against(expected); },
               {folder_.path(), "missing: v [5]", "missing: u []",
                "wrong shape: w: expected [3, 2], got [2, 3]", "unexpected: x [1]"});
  try {
    files.check_against(expected);
  } catch (const Error& error) {
    for (const char* silent : {"good", "inv_freq", "lm_head"}) {
      EXPECT_EQ(std::string(error.what()).find(silent), std::string::npos) << error.what();
    }
  }
  const std::vector<NamedShape> head = {
      {"good", {4}}, {"w", {2, 3}}, {"x", {1}}, {"lm_head.weight", {3}}};
  expect_error([&] { files.check_against(head); }, {"lm_head.weight: expected [3], got [2]"});
}

TEST(ParameterNames, OfEveryFamily) {
  ModelConfig config{.hidden_size = 8,
                     .intermediate_size = 12,
                     .num_hidden_layers = 2,
                     .num_attention_heads = 4,
                     .num_key_value_heads = 2,
                     .head_dim = 6,
                     .vocab_size = 10,
                     .max_position_embeddings = 16};
  const std::string layer = "model.layers.1.";
  std::vector<NamedShape> names = parameter_names(config);
  EXPECT_EQ(names.size(), 3u + 2 * 9);
  const auto expect = [&](const std::string& name, const std::vector<int64_t>& shape) {
    EXPECT_EQ(std::ranges::count(names, NamedShape{name, shape}), 1) << name;
  };
  expect("model.embed_tokens.weight", {10, 8});
  expect("model.layers.0.input_layernorm.weight", {8});
  expect(layer + "input_layernorm.weight", {8});
  expect(layer + "self_attn.q_proj.weight", {24, 8});
  expect(layer + "self_attn.k_proj.weight", {12, 8});
  expect(layer + "self_attn.v_proj.weight", {12, 8});
  expect(layer + "self_attn.o_proj.weight", {8, 24});
  expect(layer + "post_attention_layernorm.weight", {8});
  expect(layer + "mlp.gate_proj.weight", {12, 8});
  expect(layer + "mlp.up_proj.weight", {12, 8});
  expect(layer + "mlp.down_proj.weight", {8, 12});
  expect("model.norm.weight", {8});
  expect("lm_head.weight", {10, 8});

  config.tie_word_embeddings = true;
  EXPECT_EQ(parameter_names(config).size(), 2u + 2 * 9);
  config.family = Family::kMistral;
  EXPECT_EQ(parameter_names(config).size(), 2u + 2 * 9);

  config.family = Family::kQwen2;
  names = parameter_names(config);
  EXPECT_EQ(names.size(), 2u + 2 * 12);
  expect(layer + "self_attn.q_proj.bias", {24});
  expect(layer + "self_attn.k_proj.bias", {12});
  expect(layer + "self_attn.v_proj.bias", {12});

  config.family = Family::kQwen3;
  names = parameter_names(config);
  EXPECT_EQ(names.size(), 2u + 2 * 11);
  expect(layer + "self_attn.q_norm.weight", {6});
  expect(layer + "self_attn.k_norm.weight", {6});

  config.attention_bias = true;
  names = parameter_names(config);
  EXPECT_EQ(names.size(), 2u + 2 * 15);
  expect(layer + "self_attn.o_proj.bias", {8});
}

}  // namespace
}  // namespace coda::checkpoint
