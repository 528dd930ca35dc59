// Checkpoints that a run does not go on from.
#include <cstring>
#include <limits>

#include "coda/checkpoint/safetensors.h"
#include "coda/train/model_checkpoint.h"
#include "coda/train/trainer.h"
#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using BadCheckpoint = SmallRun;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << "no '" << what << "' in " << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST_F(BadCheckpoint, IsNotResumedFromNothing) {
  expect_error([&] { resume("missing"); }, {"missing", "got none", "--out"});
  fs::create_directories(path("empty"));
  expect_error([&] { resume("empty"); }, {"empty", "got none", "--out"});
}

TEST_F(BadCheckpoint, IsNotResumedFromADamagedState) {
  whole();
  const fs::path file = last_checkpoint(run_folder()) + "/run.json";
  const std::string good = read_all(file);
  const auto expect = [&](const std::string& text, std::initializer_list<std::string> parts) {
    folder_.write(file, text);
    expect_error([&] { resume(); }, parts);
  };
  for (const size_t bytes : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 3}) {
    expect(good.substr(0, bytes), {"run.json", "not the state of a run"});
  }
  expect("[]", {"run.json", "not the state of a run"});
  expect(replaced(good, "\"steps\": 12", "\"steps\": \"many\""), {"run.json", "options of a run"});
  expect(replaced(good, "\"steps\": 12,", ""), {"run.json", "steps"});
  expect(replaced(good, "\"steps\": 12", "\"steps\": 12.9"), {"'steps'", "whole number", "12.9"});
  expect(replaced(good, "\"seed\": ", "\"seed\": -"), {"run.json", "'seed'", "from 0 on", "-"});
  expect(replaced(good, "\"step\": 12", "\"step\": 12.7"), {"'step'", "whole number", "12.7"});
  expect(replaced(good, "\"step\": 12", "\"step\": 1e30"), {"'step'", "whole number", "1e+30"});
  expect(replaced(good, "\"step\": 12", "\"step\": -1"), {"run.json", "'step'", "0 to 12", "-1"});
  expect(replaced(good, "\"step\": 12", "\"step\": 11"), {"run.json", "'step'", "12", "11"});
  expect(replaced(good, "\"batch\": 4", "\"batch\": 0"), {"batch", "at least 1", "0"});
  expect(replaced(good, "\"held_out_before\": ", "\"held_out_before\": null, \"x\": "),
         {"run.json", "null"});
  fs::remove(file);
  expect_error([&] { resume(); }, {"run.json", "No such file"});
  folder_.write(file, good);
  EXPECT_EQ(resume()->step(), 12);
}

TEST_F(BadCheckpoint, IsNotResumedFromTruncatedTensors) {
  whole();
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    const fs::path file = fs::path(last_checkpoint(run_folder())) / name;
    const std::string good = read_all(file);
    for (const size_t bytes :
         {size_t{0}, size_t{7}, size_t{100}, good.size() / 2, good.size() - 1}) {
      folder_.write(file, good.substr(0, bytes));
      expect_error([&] { resume(); }, {name});
    }
    fs::remove(file);
    expect_error([&] { resume(); }, {name});
    folder_.write(file, good);
  }
  EXPECT_EQ(resume()->step(), 12);
}

// As many elements of another size would be another number of bytes.
TEST_F(BadCheckpoint, IsNotResumedFromAnOptimizerOfAnotherType) {
  whole();
  const std::string name = last_checkpoint(run_folder()) + "/optimizer.safetensors";
  std::vector<checkpoint::TensorRecord> tensors;
  const std::vector<int64_t> zeros(256 * 32 * 2);
  const checkpoint::SafetensorsFile file(name);
  for (const checkpoint::NamedShape& tensor : file.shapes()) {
    tensors.push_back(
        checkpoint::tensor_record(tensor.name, DType::kInt64, tensor.shape, zeros.data()));
  }
  checkpoint::write_safetensors(path("other"), tensors);
  fs::rename(path("other"), name);
  expect_error([&] { resume(); }, {"optimizer.safetensors", "expected fp32, got int64"});
}

// Else the weights after the first step would be no numbers, and saved over the last good ones.
TEST_F(BadCheckpoint, IsNotResumedFromAnOptimizerOfOtherNumbers) {
  whole();
  const std::string name = last_checkpoint(run_folder()) + "/optimizer.safetensors";
  const std::string good = read_all(name);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1.0f}) {
    std::string damaged = good;  // of what comes last, a sum of squares
    std::memcpy(damaged.data() + damaged.size() - sizeof(bad), &bad, sizeof(bad));
    folder_.write(name, damaged);
    expect_error([&] { resume(); },
                 {"optimizer.safetensors", ".v: expected finite numbers from 0"});
  }
  folder_.write(name, good);
  EXPECT_EQ(resume()->step(), 12);
}

TEST_F(BadCheckpoint, IsNotResumedWithOtherData) {
  whole();
  folder_.write("data.txt", small_text(2000) + "!");
  expect_error([&] { resume(); }, {run_folder(), "data that the run began with", "data.txt"});
  fs::remove(path("data.txt"));
  expect_error([&] { resume(); }, {"data.txt", "no such file"});
}

TEST_F(BadCheckpoint, IsNotResumedAsAnotherModel) {
  whole();
  folder_.write(last_checkpoint(run_folder()) + "/config.json", small_config(96));
  expect_error([&] { resume(); },
               {"model.layers.0.mlp.gate_proj.weight: expected [96, 32], got [64, 32]",
                "model.layers.0.mlp.down_proj.weight: expected [32, 96], got [32, 64]",
                "model.layers.1.mlp.up_proj.weight: expected [96, 32], got [64, 32]"});
  folder_.write(last_checkpoint(run_folder()) + "/config.json", small_config(64, "qwen3"));
  expect_error([&] { resume(); }, {"missing: model.layers.1.self_attn.q_norm.weight [16]"});
}

}  // namespace
}  // namespace coda::train
