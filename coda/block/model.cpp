#include "coda/block/model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "coda/block/architecture.h"
#include "coda/catalogue/cross_entropy.h"

namespace coda::block {
namespace {

std::string gibibytes(int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (int64_t{1} << 30));
}

}  // namespace

Sizes sizes_of(const checkpoint::ModelConfig& config, int64_t batch, int64_t sequence) {
  if (config.output_bias()) {
    throw Error(
        "config.json: 'attention_bias': expected false (a bias of o_proj is not supported), got "
        "true");
  }
  Sizes sizes;
  sizes.batch = batch;
  sizes.sequence = sequence;
  sizes.layers = config.num_hidden_layers;
  sizes.hidden = config.hidden_size;
  sizes.ffn = config.intermediate_size;
  sizes.vocab = config.vocab_size;
  sizes.heads = config.num_attention_heads;
  sizes.kv_heads = config.num_key_value_heads;
  sizes.head_dim = config.head_dim;
  sizes.biases = config.qkv_bias();
  sizes.head_norms = config.qk_norm();
  sizes.tied = config.tie_word_embeddings;
  sizes.epsilon = config.norm_epsilon;
  sizes.gpt2 = config.is_gpt2();
  sizes.positions = config.max_position_embeddings;
  sizes.activation = config.activation;
  return sizes;
}

Model::Model(const checkpoint::ModelConfig& config, const ModelOptions& options, Device& device)
    : config_(config),
      options_(options),
      sizes_(sizes_of(config, options.batch, options.sequence)),
      device_(device) {
  checkpoint::validate(config, "model");
  if (options.batch < 1 || options.sequence < 1 || options.parts < 1) {
    throw Error(fmt::format("model: expected at least one sequence, token and part, got {}, {}, {}",
                            options.batch, options.sequence, options.parts));
  }
  constexpr int64_t kMostTokens = INT32_MAX;  // indices of programs
  if (options.batch > kMostTokens / options.sequence) {
    throw Error(fmt::format(
        "model: expected at most {} tokens at a time, got a batch of {} sequences of {}; split the "
        "batch into more parts",
        kMostTokens, options.batch, options.sequence));
  }
  if (sizes_.gpt2 && options.sequence > sizes_.positions) {
    throw Error(fmt::format(
        "model: expected sequences of at most {} tokens, as many as the model has positions "
        "(n_positions), got {}; lower the sequence",
        sizes_.positions, options.sequence));
  }
  if (config.sliding_window && options.sequence > *config.sliding_window) {
    throw Error(fmt::format(
        "model: expected sequences of at most {} tokens, as far as the model's attention reaches "
        "(sliding_window), got {}; lower the sequence",
        *config.sliding_window, options.sequence));
  }
  inputs_ = declare_inputs(sizes_, options.parts, plan_);
  Architecture architecture = make_architecture(sizes_, options_, inputs_, plan_);
  parameters_ = std::move(architecture.parameters);
  ModelLists& lists = *architecture.lists;
  evaluation_ = lists.evaluation();
  fold_ = lists.fold();
  if (options.training) {
    for (int64_t part = 0; part < options.parts; ++part) training_.push_back(lists.training(part));
    update_ = lists.update();
  }
  make_memory();
  fill_inputs();
}

void Model::make_memory() {
  std::vector<Nodes*> lists = {&evaluation_, &update_, &fold_};
  for (Nodes& nodes : training_) lists.push_back(&nodes);
  for (Nodes* nodes : lists) {
    for (Node& node : *nodes) {
      const int64_t bytes = device_.workspace_bytes(node);
      if (bytes == 0) continue;
      node.workspace = plan_.declare("workspace of " + node.label, Use::kActivation, DType::kInt64,
                                     1, (bytes + 7) / 8);
    }
    plan_.add(*nodes);
  }
  plan_.place();
  if (plan_.bytes() > device_.free_bytes()) {
    std::string planned = plan_.summary();
    planned.pop_back();  // a message has no newline at its end
    throw Error(fmt::format(
        "model: expected {} of free memory on {}, got {}; lower the batch or the sequence, split "
        "the batch into more parts, or recompute blocks; planned are\n{}",
        gibibytes(plan_.bytes()), device_.name(), gibibytes(device_.free_bytes()), planned));
  }
  void* base = device_.allocate(plan_.bytes());
  for (Nodes* nodes : lists) plan_.make_real(*nodes, base);
  parameters_->make_real(plan_, base);
  for (TensorView* view :
       {&inputs_.tokens, &inputs_.targets, &inputs_.losses, &inputs_.dloss, &inputs_.rates,
        &inputs_.norm, &inputs_.clip, &inputs_.positions, &inputs_.inv_freq}) {
    *view = plan_.real(*view, base);
  }
}

void Model::fill_inputs() {
  std::vector<int64_t> positions(static_cast<size_t>(sizes_.tokens()));
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<int64_t>(i) % sizes_.sequence;
  }
  device_.copy_in(inputs_.positions, positions.data());
  if (!sizes_.gpt2) {
    const std::vector<float> frequencies = config_.inverse_frequencies();
    device_.copy_in(inputs_.inv_freq, frequencies.data());
  }
  const float dloss = 1.0f / static_cast<float>(options_.parts);
  device_.copy_in(inputs_.dloss, &dloss);
  device_.wait();
}

void Model::set_weight(const Parameter& parameter, std::span<const float> values) {
  if (static_cast<int64_t>(values.size()) != parameter.rows * parameter.columns) {
    throw Error(fmt::format("{}: expected {} values, got {}", parameter.stock[0].name,
                            parameter.rows * parameter.columns, values.size()));
  }
  if (options_.training) device_.copy_in(parameter.master, values.data());
  if (options_.type == DType::kFp32) {
    device_.copy_in(parameter.weight, values.data());
  } else {
    std::vector<bf16> rounded(values.size());
    for (size_t i = 0; i < values.size(); ++i) rounded[i] = from_float<bf16>(values[i]);
    device_.copy_in(parameter.weight, rounded.data());
  }
  device_.wait();
}

void Model::finish_weights() { run(fold_); }

void Model::run(const Nodes& nodes) {
  for (const Node& node : nodes) {
    if (before_node) before_node(node);
    device_.run(node);
    if (after_node) after_node(node);
  }
}

void Model::set_tokens(std::span<const int64_t> tokens, std::span<const int64_t> targets) {
  const auto check = [&](const char* name, std::span<const int64_t> ids, int64_t also) {
    if (static_cast<int64_t>(ids.size()) != sizes_.tokens()) {
      throw Error(fmt::format("model: '{}': expected {} of them, got {}", name, sizes_.tokens(),
                              ids.size()));
    }
    for (const int64_t id : ids) {
      if ((id < 0 || id >= sizes_.vocab) && id != also) {
        throw Error(
            fmt::format("model: '{}': expected ids below {}, got {}", name, sizes_.vocab, id));
      }
    }
  };
  check("tokens", tokens, 0);
  check("targets", targets, catalogue::CrossEntropyOptions().ignore_index);
  device_.copy_in(inputs_.tokens, tokens.data());
  device_.copy_in(inputs_.targets, targets.data());
}

void Model::forward_backward(int64_t part, std::span<const int64_t> tokens,
                             std::span<const int64_t> targets) {
  if (!options_.training || part < 0 || part >= options_.parts) {
    throw Error(fmt::format("model: expected part 0 to {} of a model that trains, got {}{}",
                            options_.parts - 1, part,
                            options_.training ? "" : " of one that does not"));
  }
  set_tokens(tokens, targets);
  run(training_[static_cast<size_t>(part)]);
  losses_made_ = part + 1;
}

void Model::forward(std::span<const int64_t> tokens, std::span<const int64_t> targets) {
  set_tokens(tokens, targets);
  run(evaluation_);
  losses_made_ = 1;
}

void Model::update(double learning_rate, int64_t step) {
  if (!options_.training || step < 1) {
    throw Error(fmt::format("model: expected step 1 or later of a model that trains, got {}{}",
                            step, options_.training ? "" : " of one that does not"));
  }
  const auto correction = [&](double beta) {
    return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(step))));
  };
  const float rates[] = {static_cast<float>(learning_rate), correction(options_.beta1),
                         correction(options_.beta2)};
  device_.copy_in(inputs_.rates, rates);
  run(update_);
}

float Model::loss() {
  if (losses_made_ == 0) throw Error("model: expected a forward before its loss is read");
  std::vector<float> losses(static_cast<size_t>(options_.parts));
  device_.copy_out(losses.data(), inputs_.losses);
  double sum = 0;
  for (int64_t i = 0; i < losses_made_; ++i) sum += losses[static_cast<size_t>(i)];
  return static_cast<float>(sum / static_cast<double>(losses_made_));
}

float Model::gradient_norm() {
  float norm = 0;
  device_.copy_out(&norm, inputs_.norm);
  return norm;
}

}  // namespace coda::block
