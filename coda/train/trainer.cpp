#include "coda/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/run_folder.h"
#include "coda/train/held_out.h"
#include "coda/train/initial_weights.h"
#include "coda/train/loss_plot.h"
#include "coda/train/model_checkpoint.h"
#include "coda/train/presets.h"
#include "coda/train/profile.h"
#include "coda/train/schedule.h"

namespace coda::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kStateFile = "/run.json";

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(path + ": cannot be read");
  return text.str();
}

checkpoint::ModelConfig config_of(const std::string& model) {
  return is_preset(model) ? preset(model) : checkpoint::read_model_config(model + "/config.json");
}

bool has_weights(const std::string& folder) {
  return std::filesystem::exists(folder + "/model.safetensors") ||
         std::filesystem::exists(folder + "/model.safetensors.index.json");
}

}  // namespace

std::unique_ptr<Trainer> Trainer::begin(const RunOptions& options, const std::string& run_folder,
                                        block::Device& device) {
  validate(options);
  if (const auto latest = checkpoint::latest_checkpoint(run_folder)) {
    throw Error(fmt::format(
        "{}: expected a folder without checkpoints, got one at step {}; go on with `coda train "
        "--resume {}`, or choose another --out",
        run_folder, latest->step, run_folder));
  }
  std::unique_ptr<Trainer> trainer(new Trainer(options, run_folder, device));
  trainer->start_new();
  return trainer;
}

std::unique_ptr<Trainer> Trainer::resume(const std::string& run_folder, block::Device& device) {
  const auto latest = checkpoint::latest_checkpoint(run_folder);
  if (!latest) {
    throw Error(fmt::format(
        "{}: expected the folder of a run with a checkpoint step-*, got none; begin one with "
        "--out",
        run_folder));
  }
  const std::string state_path = latest->path + kStateFile;
  nlohmann::json state;
  RunOptions options;
  try {
    state = nlohmann::json::parse(read_text(state_path));
    options = parse_run_options(state.at("options").dump(), state_path);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: not the state of a run: {}", state_path, error.what()));
  }
  validate(options);
  std::unique_ptr<Trainer> trainer(new Trainer(options, run_folder, device));
  trainer->start_from(latest->path);
  return trainer;
}

Trainer::Trainer(const RunOptions& options, const std::string& run_folder, block::Device& device)
    : options_(options), folder_(run_folder), device_(device) {
  // A run that is resumed has its architecture from the checkpoint, should the model's folder be
  // gone.
  const auto latest = checkpoint::latest_checkpoint(run_folder);
  const checkpoint::ModelConfig config = config_of(latest ? latest->path : options.model);
  CorpusOptions corpus_options;
  corpus_options.sequence = options.sequence;
  corpus_options.vocab_size = config.vocab_size;
  corpus_.emplace(std::vector<std::filesystem::path>(options.data.begin(), options.data.end()),
                  corpus_options);
  const block::ModelOptions model_options = train::model_options(options);
  batches_.emplace(*corpus_, BatchOptions{model_options.batch, options.parts, options.seed});
  model_ = std::make_unique<block::Model>(config, model_options, device);
  tokens_.resize(static_cast<size_t>(model_->sizes().tokens()));
  targets_.resize(tokens_.size());
}

void Trainer::start_new() {
  if (!is_preset(options_.model) && has_weights(options_.model)) {
    read_weights(*model_, options_.model);
  } else {
    set_initial_weights(*model_, options_.seed);
  }
}

void Trainer::start_from(const std::string& checkpoint) {
  const std::string path = checkpoint + kStateFile;
  try {
    const auto state = nlohmann::json::parse(read_text(path));
    step_ = saved_step_ = state.at("step").get<int64_t>();
    held_out_before_ = state.at("held_out_before").get<double>();
    if (state.at("data").get<uint64_t>() != corpus_->fingerprint()) {
      throw Error(
          fmt::format("{}: expected the data that the run began with, got another; its paths: {}",
                      folder_, nlohmann::json(options_.data).dump()));
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: not the state of a run: {}", path, error.what()));
  }
  read_weights(*model_, checkpoint);
  read_optimizer(*model_, checkpoint);
}

RunSummary Trainer::run(const std::atomic<bool>& stop) {
  std::filesystem::create_directories(folder_);
  MetricsFile metrics(folder_ + "/metrics.jsonl", step_);
  if (step_ == 0) evaluate(metrics);
  std::optional<Profile> profile;
  if (device_.name() == "cpu") profile.emplace(*model_);

  double seconds = 0;
  const int64_t first = step_;
  int64_t read = step_;
  auto begin = Clock::now();
  const auto pause = [&] {
    model_->device().wait();
    seconds += seconds_since(begin);
  };
  double read_seconds = 0;  // when the loss was last read, of `seconds`
  while (step_ < options_.steps && !stop) {
    train_step();
    const bool last = step_ == options_.steps || stop;
    const bool evaluates = options_.evaluate_every > 0 && step_ % options_.evaluate_every == 0;
    const bool saves = options_.save_every > 0 && step_ % options_.save_every == 0;
    if (step_ - read == options_.read_every || last || evaluates || saves) {
      pause();
      begin = Clock::now();
      read_loss(seconds - read_seconds, step_ - read);
      metrics.append(last_);
      if (on_step) on_step(last_);
      read = step_;
      read_seconds = seconds;
    }
    if (evaluates) evaluate(metrics);
    if (saves) save();
    if (evaluates || saves) begin = Clock::now();
  }
  pause();
  std::vector<OperationTime> operations;
  if (profile) operations = profile->times();
  profile.reset();
  if (evaluated_step_ != step_) evaluate(metrics);
  if (saved_step_ != step_) save();
  checkpoint::write_file_atomically(
      folder_ + "/loss.svg",
      loss_plot_svg("loss, " + options_.model, read_metrics(folder_ + "/metrics.jsonl")));
  return summary(seconds, step_ - first, std::move(operations));
}

void Trainer::train_step() {
  for (int64_t part = 0; part < options_.parts; ++part) {
    batches_->fill(step_, part, tokens_, targets_);
    model_->forward_backward(part, tokens_, targets_);
  }
  const Schedule schedule = {options_.learning_rate, options_.warmup_steps, options_.steps};
  const double rate = learning_rate(schedule, step_);
  ++step_;
  model_->update(rate, step_);
  last_.learning_rate = static_cast<float>(rate);
}

// steps: since the last look, in so many seconds.
void Trainer::read_loss(double seconds, int64_t steps) {
  const int64_t tokens = options_.batch * options_.sequence;
  last_.step = step_;
  last_.loss = model_->loss();
  last_.gradient_norm = model_->gradient_norm();
  last_.tokens = step_ * tokens;
  last_.seconds = static_cast<float>(seconds / static_cast<double>(steps));
  last_.tokens_per_second = static_cast<float>(static_cast<double>(tokens * steps) / seconds);
  if (std::isfinite(last_.loss) && std::isfinite(last_.gradient_norm)) return;
  const auto kept = checkpoint::latest_checkpoint(folder_);
  throw Error(
      fmt::format("step {}: expected a finite loss and gradient, got loss {} and norm {}; {}. A "
                  "lower --lr or a "
                  "longer --warmup may help",
                  step_, last_.loss, last_.gradient_norm,
                  kept ? fmt::format("the checkpoint of step {} in {} is kept", kept->step, folder_)
                       : "there is no checkpoint yet"));
}

void Trainer::evaluate(MetricsFile& metrics) {
  const HeldOutLoss loss = held_out_loss(*model_, *batches_, options_.held_out_batches);
  if (step_ == 0) held_out_before_ = loss.mean;
  held_out_after_ = loss.mean;
  held_out_tokens_ = loss.tokens;
  evaluated_step_ = step_;
  metrics.append(HeldOutMetrics{step_, static_cast<float>(loss.mean)});
}

std::string Trainer::state_json() const {
  nlohmann::json state;
  state["step"] = step_;
  state["held_out_before"] = held_out_before_.value();
  state["data"] = corpus_->fingerprint();
  state["options"] = nlohmann::json::parse(to_json(options_));
  return state.dump(2) + "\n";
}

void Trainer::save() {
  checkpoint::save_checkpoint(folder_, step_, options_.keep, [&](const std::string& folder) {
    write_weights(*model_, folder);
    write_optimizer(*model_, folder);
    checkpoint::FileOutput state(folder + kStateFile);
    state.write(state_json());
    state.finish();
  });
  saved_step_ = step_;
}

RunSummary Trainer::summary(double seconds, int64_t steps, std::vector<OperationTime> operations) {
  RunSummary result;
  result.model = fmt::format("{}, {} layers, {} parameters", options_.model, model_->sizes().layers,
                             count_text(static_cast<double>(model_->parameters().count())));
  result.device = device_.name();
  result.steps = steps;
  result.last_step = step_;
  result.tokens = steps * options_.batch * options_.sequence;
  result.seconds = seconds;
  result.held_out_before = held_out_before_;
  result.held_out_after = held_out_after_;
  result.held_out_tokens = held_out_tokens_;
  result.operations = std::move(operations);
  result.planned_bytes = model_->memory().bytes();
  result.seen_bytes = device_.peak_bytes();
  result.metrics = folder_ + "/metrics.jsonl";
  result.plot = folder_ + "/loss.svg";
  if (const auto latest = checkpoint::latest_checkpoint(folder_)) result.checkpoint = latest->path;
  if (step_ < options_.steps) result.resume_command = "coda train --resume " + folder_;
  return result;
}

}  // namespace coda::train
