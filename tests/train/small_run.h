// Runs of a model so small that a step takes a millisecond or two.
#pragma once
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/parameter_names.h"
#include "coda/checkpoint/run_folder.h"
#include "coda/checkpoint/safetensors.h"
#include "coda/core/random.h"
#include "coda/train/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::train {

inline std::string small_config(int64_t ffn = 64, const std::string& type = "llama") {
  return "{\"model_type\":\"" + type +
         "\",\"hidden_size\":32,\"intermediate_size\":" + std::to_string(ffn) +
         ",\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
         "\"head_dim\":16,\"vocab_size\":256,\"max_position_embeddings\":64,"
         "\"rms_norm_eps\":1e-5,\"rope_theta\":10000.0,\"tie_word_embeddings\":true,"
         "\"torch_dtype\":\"bfloat16\"}";
}

inline std::string small_gpt2_config(double dropout = 0) {
  return "{\"model_type\":\"gpt2\",\"n_embd\":32,\"n_inner\":64,\"n_layer\":2,\"n_head\":2,"
         "\"vocab_size\":257,\"n_positions\":24,\"resid_pdrop\":" +
         std::to_string(dropout) +
         ",\"embd_pdrop\":0.0,\"attn_pdrop\":0.0,\"torch_dtype\":\"bfloat16\"}";
}

// Beside a model's config.json: all elements of a tensor the same.
inline void write_equal_weights(const std::string& folder,
                                const std::function<float(const std::string& name)>& value) {
  std::list<std::vector<float>> values;
  std::vector<checkpoint::TensorRecord> tensors;
  const auto config = checkpoint::read_model_config(folder + "/config.json");
  for (const auto& [name, shape] : checkpoint::parameter_names(config)) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    values.emplace_back(count, value(name));
    tensors.push_back(checkpoint::tensor_record(name, DType::kFp32, shape, values.back().data()));
  }
  checkpoint::write_safetensors(folder + "/model.safetensors", tensors);
}

// Of which a loss overflows.
inline float huge_norm(const std::string& name) { return name == "model.norm.weight" ? 3e38f : 1; }

// Words in an order that has something to be learned.
inline std::string small_text(size_t words) {
  constexpr const char* kWords[] = {"the ", "model ", "reads ", "a ", "line ", "of ", "text.\n"};
  Random random(7);
  std::string text;
  size_t word = 0;
  for (size_t i = 0; i < words; ++i) {
    word = (word + (random.chance(0.25) ? 2 : 1)) % std::size(kWords);
    text += kWords[word];
  }
  return text;
}

// A folder with a model's config.json, data, and places for runs.
class SmallRun : public testing::Test {
 protected:
  SmallRun() {
    folder_.write("model/config.json", small_config());
    options.data = {folder_.write("data.txt", small_text(2000))};
    options.model = path("model");
    options.steps = 12;
    options.batch = 4;
    options.sequence = 16;
    options.warmup_steps = 3;
    options.evaluate_every = 5;
    options.held_out_batches = 2;
    options.save_every = 4;
  }

  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::string run_folder() const { return path("run"); }

  std::unique_ptr<Trainer> begin(const std::string& name = "run") {
    return Trainer::begin(options, path(name), device());
  }
  std::unique_ptr<Trainer> resume(const std::string& name = "run") {
    return Trainer::resume(path(name), device());
  }
  // A run from its beginning to its end.
  RunSummary whole(const std::string& name = "run") { return begin(name)->run(never); }
  // Trains until so many steps are done.
  static RunSummary run_to(Trainer& trainer, int64_t step) {
    std::atomic<bool> stop = false;
    trainer.on_step = [&](const StepMetrics& metrics) { stop = metrics.step >= step; };
    return trainer.run(stop);
  }
  // Models keep their memory until their device goes.
  block::Device& device() { return *devices_.emplace_back(block::make_cpu_device(threads)); }

  RunOptions options;
  int threads = 1;
  const std::atomic<bool> never = false;

  TemporaryFolder folder_;

 private:
  std::vector<std::unique_ptr<block::Device>> devices_;
};

inline const char* const kCheckpointFiles[] = {"config.json", "model.safetensors",
                                               "optimizer.safetensors", "run.json"};

inline std::string last_checkpoint(const std::string& run) {
  const auto latest = checkpoint::latest_checkpoint(run);
  EXPECT_TRUE(latest) << run;
  return latest ? latest->path : run;
}

inline Metrics metrics_without_times(const std::string& run) {
  Metrics metrics = read_metrics(run + "/metrics.jsonl");
  for (StepMetrics& step : metrics.steps) step.seconds = step.tokens_per_second = 0;
  return metrics;
}

// Bit for bit: the last checkpoints, and all metrics but times.
inline void expect_same_runs(const std::string& a, const std::string& b) {
  const std::filesystem::path in_a = last_checkpoint(a), in_b = last_checkpoint(b);
  EXPECT_EQ(in_a.filename(), in_b.filename());
  for (const char* name : kCheckpointFiles) {
    EXPECT_TRUE(read_all(in_a / name) == read_all(in_b / name)) << name << " differs";
  }
  const Metrics of_a = metrics_without_times(a), of_b = metrics_without_times(b);
  EXPECT_TRUE(of_a.steps == of_b.steps) << "metrics of steps differ";
  EXPECT_TRUE(of_a.held_out == of_b.held_out) << "held-out losses differ";
}

}  // namespace coda::train
