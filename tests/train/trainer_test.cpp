// A run that stops and goes on is, bit for bit, the run that never stopped; on any number of
// threads; and what it says and saves is right.
#include "coda/train/trainer.h"

#include "coda/checkpoint/model_files.h"
#include "tests/block/forwarding_device.h"
#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using Training = SmallRun;

TEST_F(Training, LearnsAndSaysSo) {
  options.steps = 60;
  options.learning_rate = 1e-2;
  const RunSummary summary = whole();
  EXPECT_EQ(summary.steps, 60);
  EXPECT_EQ(summary.last_step, 60);
  EXPECT_EQ(summary.tokens, 60 * 4 * 16);
  EXPECT_LT(*summary.held_out_after, 0.6 * *summary.held_out_before);
  EXPECT_EQ(summary.held_out_tokens, 2 * 4 * 16);
  EXPECT_EQ(summary.checkpoint, path("run/step-00000060"));
  EXPECT_EQ(summary.resume_command, "");
  EXPECT_GE(summary.seen_bytes, summary.planned_bytes);
  for (const std::string& file : {summary.metrics, summary.plot}) EXPECT_TRUE(fs::exists(file));
  const Metrics metrics = read_metrics(summary.metrics);
  ASSERT_EQ(metrics.steps.size(), 60u);
  EXPECT_EQ(metrics.held_out.front(),
            (HeldOutMetrics{0, static_cast<float>(*summary.held_out_before)}));
  EXPECT_EQ(metrics.held_out.back(),
            (HeldOutMetrics{60, static_cast<float>(*summary.held_out_after)}));
  EXPECT_EQ(metrics.held_out.size(), 13u);
}

// Operations are timed in steps alone, not while the model is evaluated.
TEST_F(Training, AccountsForItsSeconds) {
  options.evaluate_every = 1;
  options.held_out_batches = 100;
  const RunSummary summary = whole();
  double operations = 0, steps = 0;
  for (const OperationTime& operation : summary.operations) {
    operations += operation.seconds;
    if (operation.name.starts_with("F0")) {
      EXPECT_EQ(operation.calls, options.steps);
    }
  }
  EXPECT_GT(operations, 0);
  EXPECT_LE(operations, summary.seconds);
  for (const StepMetrics& step : read_metrics(summary.metrics).steps) {
    steps += static_cast<double>(step.seconds);
    EXPECT_NEAR(step.tokens_per_second * step.seconds, 4 * 16, 0.01);
  }
  EXPECT_NEAR(steps, summary.seconds, 0.01 * summary.seconds);
}

// Somebody's Ctrl-C in the middle of a step.
class InterruptingDevice : public block::ForwardingDevice {
 public:
  explicit InterruptingDevice(int64_t step) : left_(step) {}
  void run(const block::Node& node) override {
    ForwardingDevice::run(node);
    if (node.label.starts_with("F5, B8") && --left_ == 0) stop = true;
  }
  std::atomic<bool> stop = false;

 private:
  int64_t left_;
};

class Stopped : public Training, public testing::WithParamInterface<int64_t> {};

TEST_P(Stopped, GoesOnAsIfItNeverHad) {
  options.read_every = 3;  // a run stops between two looks at the loss too
  whole("whole");
  InterruptingDevice device(GetParam());
  const RunSummary stopped = Trainer::begin(options, run_folder(), device)->run(device.stop);
  EXPECT_EQ(stopped.last_step, GetParam());
  EXPECT_EQ(stopped.steps, GetParam());
  EXPECT_EQ(stopped.checkpoint, last_checkpoint(run_folder()));
  EXPECT_EQ(stopped.resume_command, "coda train --resume " + run_folder());
  EXPECT_TRUE(stopped.held_out_after);
  const auto trainer = resume();
  EXPECT_EQ(trainer->step(), GetParam());
  const RunSummary summary = trainer->run(never);
  EXPECT_EQ(summary.last_step, 12);
  EXPECT_EQ(summary.held_out_before, stopped.held_out_before);
  expect_same_runs(path("whole"), run_folder());
}

INSTANTIATE_TEST_SUITE_P(Steps, Stopped, testing::Values(1, 2, 3, 4, 5, 7, 8, 10, 11));

TEST_F(Training, StoppedBeforeItsFirstStepStillSaves) {
  whole("whole");
  const std::atomic<bool> stop = true;
  const RunSummary summary = begin()->run(stop);
  EXPECT_EQ(summary.steps, 0);
  EXPECT_EQ(summary.checkpoint, path("run/step-00000000"));
  resume()->run(never);
  expect_same_runs(path("whole"), run_folder());
}

TEST_F(Training, IsTheSameOnAnyNumberOfThreads) {
  whole("one");
  for (threads = 2; threads <= 3; ++threads) {
    const std::string name = "with " + std::to_string(threads);
    whole(name);
    expect_same_runs(path("one"), path(name));
  }
}

// The same of a GPT-2: stopped in every way, on other threads.
TEST_F(Training, OfGpt2LearnsAndGoesOnAsIfItNeverStopped) {
  folder_.write("model/config.json", small_gpt2_config());
  options.learning_rate = 1e-2;
  options.steps = 40;
  const RunSummary summary = whole("whole");
  EXPECT_LT(*summary.held_out_after, 0.7 * *summary.held_out_before);
  threads = 2;
  run_to(*begin(), 3);
  resume()->run(never);
  expect_same_runs(path("whole"), run_folder());
  const std::string folder = last_checkpoint(run_folder());
  const auto files = checkpoint::ModelFiles::open(folder);
  EXPECT_TRUE(files.contains("transformer.h.1.attn.c_attn.bias"));
  EXPECT_FALSE(files.contains("lm_head.weight"));
}

TEST_F(Training, ThatIsCompleteStaysAsItIs) {
  const RunSummary first = whole();
  const std::string checkpoint = last_checkpoint(run_folder());
  const std::string metrics = read_all(path("run/metrics.jsonl"));
  const auto written = fs::last_write_time(checkpoint);
  const RunSummary again = resume()->run(never);
  EXPECT_EQ(again.steps, 0);
  EXPECT_EQ(again.held_out_before, first.held_out_before);
  EXPECT_EQ(again.held_out_after, first.held_out_after);
  EXPECT_EQ(read_all(path("run/metrics.jsonl")), metrics);
  EXPECT_EQ(last_checkpoint(run_folder()), checkpoint);
  EXPECT_EQ(fs::last_write_time(checkpoint), written);
}

TEST_F(Training, OfNoStepsSavesWhereItBegins) {
  options.steps = 0;
  options.evaluate_every = options.save_every = 0;
  const RunSummary summary = whole();
  EXPECT_EQ(summary.held_out_before, summary.held_out_after);
  EXPECT_EQ(summary.checkpoint, path("run/step-00000000"));
  EXPECT_EQ(summary.resume_command, "");
  resume()->run(never);
  EXPECT_EQ(read_metrics(path("run/metrics.jsonl")).held_out.size(), 1u);
}

TEST_F(Training, EvaluatesAndSavesAtItsEndWhereItDoesNotOnTheWay) {
  options.evaluate_every = options.save_every = 0;
  options.read_every = 5;
  whole();
  EXPECT_EQ(checkpoint::saved_steps(run_folder()).size(), 1u);
  std::vector<int64_t> steps, held_out;
  const Metrics metrics = read_metrics(path("run/metrics.jsonl"));
  for (const StepMetrics& step : metrics.steps) steps.push_back(step.step);
  for (const HeldOutMetrics& loss : metrics.held_out) held_out.push_back(loss.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 10, 12}));
  EXPECT_EQ(held_out, (std::vector<int64_t>{0, 12}));
}

TEST_F(Training, InPartsLearnsTheSame) {
  options.type = "fp32";
  options.fold = "kept";
  const RunSummary one = whole("one");
  options.parts = 2;
  const RunSummary two = whole("two");
  EXPECT_LT(two.planned_bytes, one.planned_bytes);
  EXPECT_EQ(one.held_out_tokens, two.held_out_tokens);
  EXPECT_NEAR(*one.held_out_after, *two.held_out_after, 1e-4);
  const Metrics a = read_metrics(one.metrics), b = read_metrics(two.metrics);
  for (size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, 1e-4) << "step " << i + 1;
    EXPECT_EQ(a.steps[i].tokens, b.steps[i].tokens);
  }
}

TEST_F(Training, BeginsWithTheWeightsOfAFolder) {
  whole("before");
  const std::string stock = last_checkpoint(path("before"));
  const double trained = read_metrics(path("before/metrics.jsonl")).held_out.back().loss;
  options.model = stock;
  options.seed = 99;
  const RunSummary after = whole();
  EXPECT_EQ(static_cast<float>(*after.held_out_before), static_cast<float>(trained));
  fs::remove_all(path("before"));  // a run needs nothing of where its model came from
  EXPECT_EQ(resume()->run(never).held_out_after, after.held_out_after);
}

// fp32 weights are written as such, and config.json says so.
TEST_F(Training, WritesTheTypeItTrains) {
  options.type = "fp32";
  whole();
  const std::string folder = last_checkpoint(run_folder());
  EXPECT_EQ(checkpoint::read_model_config(folder + "/config.json").dtype, DType::kFp32);
  const auto files = checkpoint::ModelFiles::open(folder);
  EXPECT_EQ(files.tensor("model.norm.weight").dtype, DType::kFp32);
}

TEST_F(Training, IsResumedFromAnotherFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  options.data = {"./data.txt"};
  run_to(*begin(), 4);
  fs::current_path(before);
  EXPECT_EQ(resume()->run(never).last_step, options.steps);
}

// That folder is the link's target's parent, not the link's own.
TEST_F(Training, TakesDataBehindALink) {
  fs::create_directories(path("far/folder"));
  fs::create_directory_symlink(path("far/folder"), path("link"));
  fs::rename(path("data.txt"), path("far/data.txt"));
  options.data = {path("link/../data.txt")};
  run_to(*begin(), 4);
  EXPECT_EQ(resume()->run(never).last_step, options.steps);
}

TEST_F(Training, InTheFolderOfItsDataIsResumed) {
  options.data = {folder_.path()};
  run_to(*begin(), 4);
  EXPECT_EQ(resume()->run(never).last_step, options.steps);
}

}  // namespace
}  // namespace coda::train
