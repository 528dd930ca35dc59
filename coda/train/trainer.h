// A training run: data, model, schedule, checkpoints and metrics in a run's folder. It goes on from
// its last checkpoint bit for bit as if it had never stopped.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "coda/block/model.h"
#include "coda/core/error.h"
#include "coda/train/batches.h"
#include "coda/train/corpus.h"
#include "coda/train/metrics.h"
#include "coda/train/run_state.h"
#include "coda/train/summary.h"

namespace coda::train {

class Trainer {
 public:
  // A run that begins, in a folder without checkpoints; it is made where it is missing.
  // threads: that draw random weights; 0: all. plans: it will not run(), whatever the folder has.
  static std::unique_ptr<Trainer> begin(const RunOptions& options, const std::string& run_folder,
                                        block::Device& device, int threads = 0, bool plans = false);
  // The run in a folder, from its last checkpoint.
  static std::unique_ptr<Trainer> resume(const std::string& run_folder, block::Device& device);

  const RunOptions& options() const { return options_; }
  const Corpus& corpus() const { return *corpus_; }
  block::Model& model() { return *model_; }
  // The folder that the weights were read from; empty: they are random.
  const std::string& weights_from() const { return weights_from_; }
  int64_t step() const { return step_; }  // how many are done

  // Called after every step whose loss was read.
  std::function<void(const StepMetrics&)> on_step;

  // Trains to the last step, or until `stop` is set, and saves. Throws coda::Error at a loss that
  // is no number; what was saved before is kept.
  RunSummary run(const std::atomic<bool>& stop);

 private:
  Trainer(const RunOptions& options, const checkpoint::ModelConfig& config,
          const std::string& run_folder, block::Device& device);
  void read_weights_from(const std::string& folder);
  void start_from(const std::string& checkpoint, const RunState& state);
  void train_step();
  void read_loss(double seconds, int64_t steps);
  bool evaluates() const;  // after the step that is done
  HeldOutMetrics evaluate();
  [[noreturn]] void fail_not_finite(int64_t steps, const std::string& expected_and_got) const;
  void save();
  [[noreturn]] void save_and_fail(const Error& error);
  RunSummary summary(double seconds, int64_t steps);
  void profile_step(RunSummary& summary);

  RunOptions options_;
  std::string folder_, weights_from_;
  block::Device& device_;
  std::optional<Corpus> corpus_;
  std::optional<Batches> batches_;
  uint64_t data_ = 0;  // the corpus's fingerprint
  std::unique_ptr<block::Model> model_;
  int64_t step_ = 0, saved_step_ = -1;
  std::optional<double> held_out_before_, held_out_after_;
  int64_t held_out_tokens_ = 0;
  std::optional<int64_t> evaluated_step_;
  StepMetrics last_;
  std::optional<MetricsFile> metrics_;  // of the run
  std::vector<int64_t> tokens_, targets_;
};

}  // namespace coda::train
