#include "coda/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include "coda/checkpoint/run_folder.h"
#include "coda/checkpoint/run_lock.h"
#include "coda/train/folder_checks.h"
#include "coda/train/held_out.h"
#include "coda/train/initial_weights.h"
#include "coda/train/loss_plot.h"
#include "coda/train/model_checkpoint.h"
#include "coda/train/model_folder.h"
#include "coda/train/presets.h"
#include "coda/train/profile.h"
#include "coda/train/schedule.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool divides(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

}  // namespace

std::unique_ptr<Trainer> Trainer::begin(const RunOptions& options, const std::string& run_folder,
                                        block::Device& device, int threads, bool plans) {
  validate(options);
  expect_other_folder(run_folder, options.data);
  if (!plans) expect_no_checkpoint(run_folder);
  RunOptions kept = options;  // so that it can be resumed from another folder
  for (std::string& path : kept.data) {
    if (!path.empty()) path = fs::absolute(path).string();
  }
  if (!is_preset(options.model)) kept.model = resolve_model(options.model);
  validate(kept);  // its paths are longer
  const checkpoint::ModelConfig config = config_of(kept.model);
  const bool reads_weights = has_weights(kept.model);  // complains before memory is taken
  std::unique_ptr<Trainer> trainer(new Trainer(kept, config, run_folder, device));
  if (reads_weights) {
    trainer->read_weights_from(kept.model);
  } else {
    set_initial_weights(*trainer->model_, options.seed, threads);
  }
  return trainer;
}

std::unique_ptr<Trainer> Trainer::resume(const std::string& run_folder, block::Device& device) {
  const auto latest = checkpoint::latest_checkpoint(run_folder);
  if (!latest) {
    expect_no_checkpoint_itself(run_folder);
    throw Error(fmt::format(
        "'{}': expected the folder of a run with a checkpoint step-*, got none; begin one with "
        "--out",
        run_folder));
  }
  const RunState state = read_run_state(latest->path);
  if (state.step != latest->step) {
    throw Error(fmt::format("{}/run.json: 'step': expected {}, as the folder says, got {}",
                            latest->path, latest->step, state.step));
  }
  // The architecture is the checkpoint's: the folder that the model came from may be gone.
  std::unique_ptr<Trainer> trainer(
      new Trainer(state.options, config_of(latest->path), run_folder, device));
  trainer->start_from(latest->path, state);
  return trainer;
}

Trainer::Trainer(const RunOptions& options, const checkpoint::ModelConfig& config,
                 const std::string& run_folder, block::Device& device)
    : options_(options), folder_(run_folder), device_(device) {
  CorpusOptions corpus_options;
  corpus_options.sequence = options.sequence;
  corpus_options.vocab_size = config.vocab_size;
  corpus_options.left_out = run_folder;
  corpus_.emplace(std::vector<fs::path>(options.data.begin(), options.data.end()), corpus_options);
  data_ = corpus_->fingerprint();  // of what the run begins with, whatever becomes of the files
  const block::ModelOptions model_options = train::model_options(options);
  batches_.emplace(*corpus_, BatchOptions{model_options.batch, options.parts, options.seed});
  model_ = std::make_unique<block::Model>(config, model_options, device);
  tokens_.resize(static_cast<size_t>(model_->sizes().tokens()));
  targets_.resize(tokens_.size());
}

void Trainer::read_weights_from(const std::string& folder) {
  read_weights(*model_, folder);
  weights_from_ = folder;
}

void Trainer::start_from(const std::string& checkpoint, const RunState& state) {
  if (state.data != data_) {
    throw Error(fmt::format(
        "{}: expected the data that the run began with, got another in '{}'{}", folder_,
        options_.data[0],
        options_.data.size() > 1 ? fmt::format(" and {} more", options_.data.size() - 1) : ""));
  }
  step_ = saved_step_ = state.step;
  held_out_before_ = state.held_out_before;
  read_weights_from(checkpoint);
  read_optimizer(*model_, checkpoint);
}

// Which lines the metrics have depends on the number of the step alone, not on where a run was
// stopped; and a checkpoint is saved after the lines of its step were written.
RunSummary Trainer::run(const std::atomic<bool>& stop) {
  make_folder(folder_);
  const checkpoint::RunLock lock(folder_);
  expect_latest_checkpoint(folder_, saved_step_);  // of another process, that ran meanwhile
  if (saved_step_ < 0) expect_own_plot(folder_);
  MetricsFile& metrics = metrics_.emplace(folder_ + "/metrics.jsonl", step_);
  if (evaluates() && !metrics.has_held_out()) metrics.append(evaluate());
  const bool on_cpu = device_.name() == "cpu";
  std::optional<Profile> profile;
  if (on_cpu) profile.emplace(*model_);

  double seconds = 0;       // of steps, without what is between them
  double read_seconds = 0;  // of them, when the loss was last read
  const int64_t first = step_;
  int64_t read = step_;
  auto begin = Clock::now();
  while (step_ < options_.steps && !stop) {
    train_step();
    const bool saves = divides(options_.save_every, step_);
    const bool shows = evaluates() || saves || divides(options_.read_every, step_);
    const bool stops = stop;
    if (!shows && !stops) continue;
    device_.wait();
    seconds += seconds_since(begin);
    read_loss(seconds - read_seconds, step_ - read);
    read = step_;
    read_seconds = seconds;
    if (shows) metrics.append(last_);
    if (on_step) on_step(last_);
    if (profile) profile->stop();
    if (evaluates()) metrics.append(evaluate());
    if (saves) save();
    if (stops) break;
    if (profile) profile->start();
    begin = Clock::now();
  }
  std::vector<OperationTime> operations;
  if (profile) operations = profile->times();
  profile.reset();
  if (saved_step_ != step_) save();
  if (evaluated_step_ != step_) evaluate();  // for the summary
  RunSummary result = summary(seconds, step_ - first);
  result.plot = write_loss_plot("loss, " + options_.model, folder_);
  if (on_cpu) {
    result.operations = std::move(operations);
    result.profiled_seconds = seconds;
  } else {
    profile_step(result);
  }
  return result;
}

// A GPU's nodes are timed one by one, so not in the steps that train. Gradients are made once more,
// and nothing that is kept changes.
void Trainer::profile_step(RunSummary& summary) {
  const Profile profile(*model_);
  const auto begin = Clock::now();
  for (int64_t part = 0; part < options_.parts; ++part) {
    model_->forward_backward(part, tokens_, targets_);
  }
  summary.profiled_seconds = seconds_since(begin);
  summary.operations = profile.times();
}

void Trainer::train_step() {
  for (int64_t part = 0; part < options_.parts; ++part) {
    try {
      batches_->fill(step_, part, tokens_, targets_);
    } catch (const Error& error) {  // as of a token beyond the vocabulary
      save_and_fail(error);
    }
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
  fail_not_finite(steps, fmt::format("a finite loss and gradient, got loss {} and norm {}",
                                     last_.loss, last_.gradient_norm));
}

bool Trainer::evaluates() const {
  return step_ == 0 || step_ == options_.steps || divides(options_.evaluate_every, step_);
}

HeldOutMetrics Trainer::evaluate() {
  // As much text however many parts a batch has.
  const int64_t batches = std::min(options_.held_out_batches, batches_->held_out_batches());
  const HeldOutLoss loss = [&] {
    try {
      return held_out_loss(*model_, *batches_, batches * options_.parts);
    } catch (const DeviceError&) {
      throw;
    } catch (const Error& error) {  // of the data
      save_and_fail(error);
    }
  }();
  if (!std::isfinite(loss.mean) && step_ == 0) {
    throw Error(fmt::format(
        "step 0: expected a finite loss on held-out text, got {}; the weights, {}, give none",
        loss.mean, weights_from_.empty() ? "random ones" : "those of " + weights_from_));
  }
  if (!std::isfinite(loss.mean)) {
    fail_not_finite(1, fmt::format("a finite loss on held-out text, got {}", loss.mean));
  }
  if (step_ == 0) held_out_before_ = loss.mean;
  held_out_after_ = loss.mean;
  held_out_tokens_ = loss.tokens;
  evaluated_step_ = step_;
  return {step_, static_cast<float>(loss.mean)};
}

// steps: in one of which it happened, the last of them this one.
void Trainer::fail_not_finite(int64_t steps, const std::string& expected_and_got) const {
  const auto kept = checkpoint::latest_checkpoint(folder_);
  throw Error(
      fmt::format("{}: expected {}; {}. A lower --lr or a longer --warmup may help",
                  steps > 1 ? fmt::format("steps {} to {}", step_ - steps + 1, step_)
                            : fmt::format("step {}", step_),
                  expected_and_got,
                  kept ? fmt::format("the checkpoint of step {} in {} is kept", kept->step, folder_)
                       : "there is no checkpoint yet"));
}

// While an error of the data is handled: what is done stays done. But weights that are no numbers
// may come of steps whose loss was not read yet.
void Trainer::save_and_fail(const Error& error) {
  if (step_ > std::max<int64_t>(saved_step_, 0) && std::isfinite(model_->loss()) &&
      std::isfinite(model_->gradient_norm())) {
    try {
      save();
    } catch (const Error& of_saving) {
      throw Error(fmt::format("{}; and step {} could not be saved: {}", error.what(), step_,
                              of_saving.what()));
    }
  }
  throw;
}

void Trainer::save() {
  metrics_->sync();
  const RunState state = {step_, held_out_before_.value(), data_, options_};
  checkpoint::save_checkpoint(folder_, step_, options_.keep, [&](const std::string& folder) {
    write_weights(*model_, folder);
    write_optimizer(*model_, folder);
    write_run_state(folder, state);
  });
  saved_step_ = step_;
}

RunSummary Trainer::summary(double seconds, int64_t steps) {
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
  result.planned_bytes = model_->memory().bytes();
  result.seen_bytes = device_.peak_bytes();
  result.metrics = folder_ + "/metrics.jsonl";
  if (const auto latest = checkpoint::latest_checkpoint(folder_)) result.checkpoint = latest->path;
  if (step_ < options_.steps) result.resume_command = resume_command(folder_);
  return result;
}

}  // namespace coda::train
