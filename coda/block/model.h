// A model of the LLaMA or GPT-2 family on a device: embedding, blocks, head and their gradients,
// and AdamW, each as a list of nodes on memory planned before the first of them runs.
#pragma once
#include <span>

#include "coda/block/device.h"
#include "coda/block/model_lists.h"

namespace coda::block {

class Model {
 public:
  // Plans the memory and asks the device for it. Throws coda::Error where the device has too
  // little, naming what to lower.
  Model(const checkpoint::ModelConfig& config, const ModelOptions& options, Device& device);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Sizes& sizes() const { return sizes_; }
  const ModelOptions& options() const { return options_; }
  const MemoryPlan& memory() const { return plan_; }
  const Parameters& parameters() const { return *parameters_; }
  const checkpoint::ModelConfig& config() const { return config_; }
  Device& device() { return device_; }

  // A parameter's values, rounded to the model's type; those of fp32 weights too. After the last
  // one finish_weights().
  void set_weight(const Parameter& parameter, std::span<const float> values);
  void finish_weights();

  // Part of a batch: its loss and gradients, added to those of the parts before it.
  void forward_backward(int64_t part, std::span<const int64_t> tokens,
                        std::span<const int64_t> targets);
  // After the last part; steps count from 1.
  void update(double learning_rate, int64_t step);
  // The loss alone.
  void forward(std::span<const int64_t> tokens, std::span<const int64_t> targets);

  // These wait for the device.
  float loss();           // mean over the parts of the last forward_backward(), or of forward()
  float gradient_norm();  // before clipping, of the last update()

  // Around every node, for profiles.
  std::function<void(const Node&)> before_node, after_node;

 private:
  void make_memory();
  void fill_inputs();
  void run(const Nodes& nodes);
  void set_tokens(std::span<const int64_t> tokens, std::span<const int64_t> targets);

  checkpoint::ModelConfig config_;
  ModelOptions options_;
  Sizes sizes_;
  Device& device_;
  MemoryPlan plan_;
  std::unique_ptr<Parameters> parameters_;
  Inputs inputs_;
  std::vector<Nodes> training_;  // one list per part
  Nodes evaluation_, update_, fold_;
  int64_t losses_made_ = 0;
};

}  // namespace coda::block
