#include "coda/tools/model_check.h"

#include <fmt/format.h>

#include <cmath>

#include "coda/block/model.h"
#include "coda/catalogue/cross_entropy.h"
#include "coda/core/error.h"
#include "coda/core/random.h"

namespace coda::tools {
namespace {

using block::Fold;
using block::Model;
using block::ModelOptions;
using block::Recompute;
using checkpoint::Family;

struct Case {
  const char* name;
  Family family;
  bool tied;
  Fold fold;
  Recompute recompute;
};

constexpr Case kCases[] = {
    {"llama, kept", Family::kLlama, true, Fold::kKept, Recompute::kActivation},
    {"llama, folded", Family::kLlama, false, Fold::kFolded, Recompute::kNothing},
    {"qwen2, blocks recomputed", Family::kQwen2, false, Fold::kKept, Recompute::kBlock},
    {"qwen3, folded", Family::kQwen3, true, Fold::kFolded, Recompute::kActivation},
    {"gpt2", Family::kGpt2, true, Fold::kKept, Recompute::kActivation},
    {"gpt2, blocks recomputed", Family::kGpt2, false, Fold::kKept, Recompute::kBlock},
};
constexpr int64_t kSequences = 2, kTokens = 128;
constexpr int kSteps = 20;
constexpr double kLearningRate = 3e-3;

checkpoint::ModelConfig config_of(const Case& c) {
  checkpoint::ModelConfig config;
  config.family = c.family;
  config.hidden_size = 256;
  config.intermediate_size = 768;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = config.is_gpt2() ? 4 : 2;
  config.head_dim = 64;
  config.vocab_size = config.is_gpt2() ? 501 : 504;  // no whole tile, no pitch of 16 bytes
  config.max_position_embeddings = kTokens;
  config.activation = config.is_gpt2() ? "gelu_new" : "silu";
  config.tie_word_embeddings = c.tied;
  config.dtype = DType::kBf16;
  return config;
}

ModelOptions options_of(const Case& c, DType type, int64_t parts = 1) {
  ModelOptions options;
  options.batch = kSequences / parts;
  options.sequence = kTokens;
  options.parts = parts;
  options.type = type;
  options.fold = c.fold;
  options.recompute = c.recompute;
  return options;
}

using Values = std::vector<std::vector<float>>;  // of every parameter

// Numbers that bf16 has: models of both types get the same. Norms around 1, biases that matter.
Values draw_weights(const Model& model, uint64_t seed) {
  Values result;
  for (const block::Parameter& parameter : model.parameters().all()) {
    Random random(mix(seed, result.size()));
    const bool vector =
        parameter.role == block::Role::kNorm || parameter.role == block::Role::kBias;
    const double mean = parameter.role == block::Role::kNorm ? 1 : 0;
    const double deviation = vector ? 0.25 : 1 / std::sqrt(static_cast<double>(parameter.columns));
    std::vector<float> values(static_cast<size_t>(parameter.rows * parameter.columns));
    for (float& value : values) {
      value = to_float(from_float<bf16>(static_cast<float>(mean + deviation * random.normal())));
    }
    result.push_back(std::move(values));
  }
  return result;
}

void set_weights(Model& model, const Values& values) {
  size_t i = 0;
  for (const block::Parameter& parameter : model.parameters().all()) {
    model.set_weight(parameter, values[i++]);
  }
  model.finish_weights();
}

struct Batch {
  std::vector<int64_t> tokens, targets;
};

// As many targets are ignored in every sequence, so that parts of a batch weigh the same.
Batch draw_batch(int64_t vocab, uint64_t seed) {
  Random random(mix(seed, 0xba7c4));
  Batch batch;
  for (int64_t i = 0; i < kSequences * kTokens; ++i) {
    batch.tokens.push_back(random.between(0, vocab - 1));
    const bool ignored = i % 16 == 5;
    batch.targets.push_back(ignored ? catalogue::CrossEntropyOptions().ignore_index
                                    : random.between(0, vocab - 1));
  }
  return batch;
}

struct Outcome {
  float loss = 0;
  Values gradients;

  bool operator==(const Outcome&) const = default;
};

Outcome run_batch(Model& model, const Batch& batch) {
  const auto tokens = static_cast<size_t>(model.sizes().tokens());
  for (int64_t part = 0; part < model.options().parts; ++part) {
    const size_t first = static_cast<size_t>(part) * tokens;
    model.forward_backward(part, std::span(batch.tokens).subspan(first, tokens),
                           std::span(batch.targets).subspan(first, tokens));
  }
  Outcome outcome;
  outcome.loss = model.loss();
  for (const block::Parameter& parameter : model.parameters().all()) {
    std::vector<float>& gradient =
        outcome.gradients.emplace_back(static_cast<size_t>(parameter.rows * parameter.columns));
    model.device().copy_out(gradient.data(), parameter.gradient);
  }
  return outcome;
}

Outcome run_once(const Case& c, const std::string& backend, const ModelOptions& options,
                 const Values& weights, const Batch& batch) {
  const auto device = block::make_device(backend);
  Model model(config_of(c), options, *device);
  set_weights(model, weights);
  return run_batch(model, batch);
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

// |got − want| / |want|
double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - want[i];
    sum += difference * difference;
  }
  return std::sqrt(sum) / norm(want);
}

// Collects what one case has to say.
class Report {
 public:
  Report(CheckResult& result, std::string what) : result_(result), what_(std::move(what)) {}
  template <class... Arguments>
  void expect(bool good, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    ++(good ? result_.passed : result_.failed);
    if (good) return;
    result_.failures.push_back(
        fmt::format("{} {}", what_, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

 private:
  CheckResult& result_;
  std::string what_;
};

// A step along a gradient changes the loss by the gradient's length times the step's. The step
// changes loss or weights by some percent: the loss's own rounding is 10^-3 of that or less, the
// curvature below 1 %.
void check_differences(Model& model, const Batch& batch, const Values& weights,
                       const Outcome& outcome, Report& report) {
  size_t i = 0;
  for (const block::Parameter& parameter : model.parameters().all()) {
    const std::vector<float>& gradient = outcome.gradients[i];
    const double length = norm(gradient);
    const double step = std::min(0.005 * outcome.loss / length, 0.04 * norm(weights[i]));
    double loss[2];
    for (const int side : {0, 1}) {
      Values moved = weights;
      for (size_t j = 0; j < gradient.size(); ++j) {
        moved[i][j] += static_cast<float>((side == 0 ? -step : step) * gradient[j] / length);
      }
      set_weights(model, moved);
      model.forward(batch.tokens, batch.targets);
      loss[side] = model.loss();
    }
    const double slope = (loss[1] - loss[0]) / (2 * step);
    report.expect(std::abs(slope - length) <= 0.01 * length,
                  "{}: the gradient's length is {:.6g}, by differences of the loss {:.6g}",
                  parameter.stock[0].name, length, slope);
    ++i;
  }
}

// Errors of bf16, on the CPU and on the backend, against fp32. Where a parameter's happens to be
// small on the CPU, what is usual over all of them counts.
void compare(const Model& model, const Outcome& got, const Outcome& cpu, const Outcome& exact,
             const char* what, Report& report) {
  std::vector<double> usual_errors;
  double squares = 0;
  for (size_t i = 0; i < exact.gradients.size(); ++i) {
    usual_errors.push_back(relative_error(cpu.gradients[i], exact.gradients[i]));
    squares += usual_errors[i] * usual_errors[i];
  }
  const double usual = std::sqrt(squares / static_cast<double>(exact.gradients.size()));
  size_t i = 0;
  for (const block::Parameter& parameter : model.parameters().all()) {
    const double error = relative_error(got.gradients[i], exact.gradients[i]);
    const double allowed = 2 * std::max(usual_errors[i], usual);
    report.expect(error <= allowed,
                  "{}: {}: the gradient's error is {:.3g}, expected at most {:.3g}", what,
                  parameter.stock[0].name, error, allowed);
    ++i;
  }
  // A mean over tokens whose errors have nothing to do with each other; the CPU's may happen to
  // cancel.
  const double spread = usual * exact.loss / std::sqrt(static_cast<double>(kSequences * kTokens));
  const double allowed = 2 * std::max(std::abs(static_cast<double>(cpu.loss) - exact.loss), spread);
  report.expect(std::abs(got.loss - exact.loss) <= allowed,
                "{}: loss {:.6f}, expected {:.6f} ± {:.2g}", what, got.loss, exact.loss, allowed);
}

void check_training(const Case& c, const std::string& backend, const Values& weights,
                    const Batch& batch, Report& report) {
  const auto device = block::make_device(backend);
  Model model(config_of(c), options_of(c, DType::kBf16), *device);
  set_weights(model, weights);
  std::vector<float> losses;
  for (int step = 1; step <= kSteps; ++step) {
    model.forward_backward(0, batch.tokens, batch.targets);
    model.update(kLearningRate, step);
    losses.push_back(model.loss());
  }
  // One batch again and again is soon known by heart.
  report.expect(losses.back() < 0.5f * losses.front(),
                "losses of {} steps: expected to fall, got {:.4g}", kSteps, fmt::join(losses, " "));
}

void check_case(const Case& c, const std::string& backend, uint64_t seed, Report& report) {
  const auto device = block::make_device("cpu");
  Model model(config_of(c), options_of(c, DType::kFp32), *device);
  const Values weights = draw_weights(model, seed);
  const Batch batch = draw_batch(model.sizes().vocab, seed);
  set_weights(model, weights);
  const Outcome exact = run_batch(model, batch);
  check_differences(model, batch, weights, exact, report);

  const auto run = [&](const std::string& where, int64_t parts) {
    return run_once(c, where, options_of(c, DType::kBf16, parts), weights, batch);
  };
  const Outcome cpu = run("cpu", 1), got = run(backend, 1);
  report.expect(got == run(backend, 1), "run again, bits differ");
  if (backend != "cpu") compare(model, got, cpu, exact, "batch", report);
  compare(model, run(backend, kSequences), cpu, exact, "batch in parts", report);
  check_training(c, backend, weights, batch, report);
}

}  // namespace

CheckResult check_model(const std::string& backend, uint64_t seed) {
  if (backend != "cpu" && backend != "cuda") {
    throw Error(fmt::format("--model: expected --backend cpu or cuda, got {}", backend));
  }
  block::make_device(backend);  // says at once what is missing
  CheckResult result;
  for (const Case& c : kCases) {
    Report report(result, fmt::format("coda check --model --backend {} --seed {}: {}:", backend,
                                      seed, c.name));
    check_case(c, backend, seed, report);
  }
  return result;
}

}  // namespace coda::tools
