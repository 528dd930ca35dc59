// Which model a name means, and whether it has weights.
#include "coda/train/model_folder.h"

#include <unistd.h>

#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using ModelFolder = InFolder;

TEST_F(ModelFolder, OfARunIsItsLastCheckpoint) {
  folder_.write("run/metrics.jsonl", "");
  EXPECT_EQ(resolve_model(folder_ / "run"), folder_ / "run");
  for (const char* step : {"step-00000004", "step-00000012"}) {
    folder_.write(fs::path("run") / step / "config.json", small_config());
  }
  EXPECT_EQ(resolve_model(folder_ / "run"), folder_ / "run/step-00000012");
  EXPECT_EQ(resolve_model(folder_ / "run/step-00000004"), folder_ / "run/step-00000004");
  folder_.write("run/config.json", small_config());  // a model's, where somebody trained
  EXPECT_EQ(resolve_model(folder_ / "run"), folder_ / "run");
  EXPECT_EQ(resolve_model("tiny"), "tiny");
  EXPECT_EQ(resolve_model(folder_ / "nowhere"), folder_ / "nowhere");
}

// Which counts where no preset is meant, as in `coda eval`.
TEST_F(ModelFolder, OfARunMayBeNamedLikeAPreset) {
  folder_.write("tiny/step-00000004/config.json", small_config());
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_EQ(resolve_model("tiny"), "tiny/step-00000004");
  EXPECT_EQ(config_of("tiny").intermediate_size, 768);
  fs::current_path(before);
}

TEST_F(ModelFolder, HasTheConfigurationThatItsFileSays) {
  folder_.write("model/config.json", small_config(96));
  EXPECT_EQ(config_of(folder_ / "model").intermediate_size, 96);
  EXPECT_EQ(config_of("tiny").intermediate_size, 768);
  folder_.write("file", "");
  for (const std::string& name : {std::string("tny"), folder_ / "file", std::string()}) {
    expect_error([&] { config_of(name); },
                 {"model: expected tiny, small", "config.json", "got '" + name + "'"});
  }
}

TEST_F(ModelFolder, MayHaveNoWeights) {
  EXPECT_FALSE(has_weights("tiny"));
  folder_.write("config.json", small_config());
  for (const char* name :
       {"tokens.u16.bin", "tokenizer.json", "README.md", "pytorch.txt", "optimizer.pt",
        "scheduler.pt", "rng_state_0.pth", "scaler.pt", "training_args.bin"}) {
    folder_.write(name, "x");
  }
  EXPECT_FALSE(has_weights(folder_.path()));
}

TEST_F(ModelFolder, HasThemInOneFileOrInShards) {
  folder_.write("one/model.safetensors", "");
  folder_.write("one/optimizer.pt", "");
  EXPECT_TRUE(has_weights(folder_ / "one"));
  folder_.write("shards/model.safetensors.index.json", "");
  folder_.write("shards/model-00001-of-00001.safetensors", "");
  EXPECT_TRUE(has_weights(folder_ / "shards"));
}

TEST_F(ModelFolder, IsRefusedWhereItsWeightsWouldNotBeRead) {
  for (const char* name :
       {"pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json",
        "model-00001-of-00002.safetensors", "adapter_model.safetensors", "model.fp16.safetensors",
        "model.fp16.safetensors.index.json", "tf_model.h5", "flax_model.msgpack", "q4.gguf",
        "weights.pt", "weights.pth", "model.bin", "model.ckpt.index", "weights.npz",
        "model.onnx"}) {
    const std::string path = folder_.write(fs::path("model") / name, "");
    expect_error([&] { has_weights(folder_ / "model"); },
                 {folder_ / "model", "expected its weights in model.safetensors", name});
    fs::remove(path);
  }
  folder_.write("model/b.pt", "");
  folder_.write("model/a.pt", "");
  expect_error([&] { has_weights(folder_ / "model"); }, {"got a.pt, b.pt;"});
}

TEST_F(ModelFolder, IsRefusedWhereALinkToItsWeightsLeadsNowhere) {
  fs::create_symlink("../blobs/gone", folder_ / "model.safetensors");
  expect_error([&] { has_weights(folder_.path()); },
               {"got model.safetensors (a link that leads nowhere)"});
}

TEST_F(ModelFolder, IsNamedWhereItMayNotBeRead) {
  expect_error([&] { has_weights(folder_ / "gone"); }, {folder_ / "gone", "No such file"});
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  fs::permissions(folder_.path(), fs::perms::owner_exec);
  expect_error([&] { has_weights(folder_.path()); }, {"Permission denied"});
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace coda::train
