// The weights that a run begins with: those of a folder, which have to be numbers, or random ones.
#include <limits>

#include "coda/train/model_checkpoint.h"
#include "coda/train/trainer.h"
#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using GivenWeights = SmallRun;

TEST_F(GivenWeights, AreThoseOfTheLastCheckpointOfARun) {
  whole("before");
  options.model = path("before");
  options.seed = 99;
  const auto trainer = begin();
  EXPECT_EQ(trainer->weights_from(), last_checkpoint(path("before")));
  EXPECT_EQ(trainer->options().model, last_checkpoint(path("before")));
  const auto trained = read_metrics(path("before/metrics.jsonl")).held_out.back().loss;
  EXPECT_EQ(static_cast<float>(*trainer->run(never).held_out_before), trained);
}

TEST_F(GivenWeights, AreRandomWhereNoneAreGiven) {
  EXPECT_EQ(begin()->weights_from(), "");
  run_to(*begin(), 4);
  EXPECT_EQ(resume()->weights_from(), path("run/step-00000004"));
}

TEST_F(GivenWeights, AreDrawnByAsManyThreadsAsAsked) {
  expect_error([&] { Trainer::begin(options, run_folder(), device(), -1); },
               {"initial weights", "'threads'", "-1"});
}

TEST_F(GivenWeights, AreNotLeftOutWhereTheyCannotBeRead) {
  folder_.write("model/pytorch_model.bin", "");
  expect_error([&] { begin(); }, {path("model"), "pytorch_model.bin", "save_pretrained"});
  EXPECT_FALSE(fs::exists(run_folder()));
}

// Each is named, those that lie in one matrix with others too.
TEST_F(GivenWeights, AreFiniteNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string bad :
       {"model.embed_tokens.weight", "model.layers.1.self_attn.k_proj.weight",
        "model.layers.0.mlp.up_proj.weight", "model.norm.weight"}) {
    write_equal_weights(path("model"),
                        [&](const std::string& name) { return name == bad ? -kInfinity : 0.01f; });
    expect_error([&] { begin(); }, {path("model"), "finite weights, got -inf in " + bad});
  }
  write_equal_weights(path("model"), [](const std::string&) { return 0.01f; });
  EXPECT_EQ(begin()->weights_from(), path("model"));
}

// transformers 5 takes the head that a file has, whatever config.json says of tied embeddings.
TEST_F(GivenWeights, HaveNoHeadBesideTiedEmbeddings) {
  for (const float head : {0.01f, 0.02f}) {
    write_equal_weights(path("model"), [](const std::string&) { return 0.01f; });
    const checkpoint::SafetensorsFile file(path("model/model.safetensors"));
    std::vector<checkpoint::TensorRecord> tensors;
    for (const auto& shape : file.shapes()) tensors.push_back(file.tensor(shape.name));
    const std::vector<float> values(size_t{256} * 32, head);
    tensors.push_back(
        checkpoint::tensor_record("lm_head.weight", DType::kFp32, {256, 32}, values.data()));
    checkpoint::write_safetensors(path("model/both.safetensors"), tensors);
    fs::rename(path("model/both.safetensors"), path("model/model.safetensors"));
    if (head == 0.01f) {
      EXPECT_EQ(begin()->weights_from(), path("model"));
    } else {
      expect_error([&] { begin(); }, {path("model"), "lm_head.weight", "'tie_word_embeddings'",
                                      "model.embed_tokens.weight", "another tensor"});
    }
  }
}

TEST_F(GivenWeights, AreDrawnWithTheDeviationOfTheirConfiguration) {
  const auto largest = [&](const std::string& range) {
    std::string config = small_config();
    config.insert(config.size() - 1, ",\"initializer_range\":" + range);
    folder_.write("model/config.json", config);
    run_to(*begin("run" + range), 0);
    const checkpoint::SafetensorsFile file(last_checkpoint(path("run" + range)) +
                                           "/model.safetensors");
    const auto record = file.tensor("model.embed_tokens.weight");
    std::vector<float> values(size_t{256} * 32);
    checkpoint::copy_elements(record, values);
    return std::ranges::max(values);
  };
  EXPECT_GT(largest("0.5"), 10 * largest("0.02"));
}

TEST_F(GivenWeights, GiveALoss) {
  write_equal_weights(path("model"), huge_norm);
  expect_error([&] { begin()->run(never); },
               {"step 0: expected a finite loss on held-out text, got ",
                "the weights, those of " + path("model") + ", give none"});
  EXPECT_FALSE(checkpoint::latest_checkpoint(run_folder()));
}

}  // namespace
}  // namespace coda::train
