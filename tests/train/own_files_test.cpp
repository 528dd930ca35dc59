// Of the files in its folder a run writes over its own alone, and saves what is done where it can.
#include "coda/train/trainer.h"
#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using OwnFiles = SmallRun;

TEST_F(OwnFiles, LeaveMetricsOfOthersAlone) {
  folder_.write("run/metrics.jsonl", "{\"accuracy\": 1}\n");
  expect_error([&] { whole(); }, {"metrics.jsonl' line 1", "accuracy", "move the file away"});
  EXPECT_EQ(read_all(path("run/metrics.jsonl")), "{\"accuracy\": 1}\n");
}

TEST_F(OwnFiles, LeaveAPlotOfOthersAlone) {
  folder_.write("run/loss.svg", "<svg/>");
  expect_error([&] { whole(); }, {path("run/loss.svg"), "move it away", "--out"});
  EXPECT_EQ(read_all(path("run/loss.svg")), "<svg/>");
  EXPECT_FALSE(fs::exists(path("run/metrics.jsonl")));
}

// That of a run that was killed before its first checkpoint, and that of one without metrics.
TEST_F(OwnFiles, WriteOverAPlotOfTheirs) {
  folder_.write("run/loss.svg", "<svg/>");
  folder_.write("run/metrics.jsonl", metrics_line(HeldOutMetrics{0, 5}));
  whole();
  EXPECT_NE(read_all(path("run/loss.svg")), "<svg/>");
  fs::remove(path("run/metrics.jsonl"));
  resume()->run(never);
  EXPECT_EQ(resume()->step(), options.steps);
}

TEST_F(OwnFiles, AreCompleteWithoutThePlot) {
  const auto trainer = begin();
  trainer->on_step = [&](const StepMetrics&) { fs::create_directories(path("run/loss.svg/x")); };
  const RunSummary summary = trainer->run(never);
  EXPECT_EQ(summary.checkpoint, path("run/step-00000012"));
  for (const char* part : {"loss.svg", "was not written"}) {
    EXPECT_NE(summary.plot.find(part), std::string::npos) << summary.plot;
  }
  EXPECT_NE(summary_text(summary).find(summary.plot), std::string::npos);
}

// The text would be another at every look at it.
TEST_F(OwnFiles, AreNoData) {
  folder_.write("texts/a.txt", small_text(2000));
  folder_.write("texts/run/log.txt", "what the shell writes there");
  options.data = {path("texts")};
  const auto trainer = begin("texts/run");
  ASSERT_EQ(trainer->corpus().files().size(), 1u);
  folder_.write("texts/run/log.txt", "what the shell writes there, later");
  run_to(*trainer, 4);
  fs::remove(path("texts/run/metrics.jsonl"));  // by which folders of runs are known
  EXPECT_EQ(resume("texts/run")->step(), 4);
}

TEST_F(OwnFiles, OfARunAreNamedWhereACheckpointIs) {
  run_to(*begin(), 4);
  const std::string checkpoint = last_checkpoint(run_folder());
  fs::create_directory_symlink(checkpoint, path("link"));
  for (const std::string& name : {checkpoint, checkpoint + "/", path("link")}) {
    expect_error([&] { Trainer::resume(name, device()); },
                 {"'" + name + "': expected the folder of a run, got a checkpoint",
                  "`coda train --resume " + fs::canonical(run_folder()).string() + "`"});
  }
}

// A token beyond the vocabulary in the last window that an epoch comes to.
TEST_F(OwnFiles, AreSavedBeforeBadDataEndsTheRun) {
  options.evaluate_every = options.save_every = 0;
  options.read_every = 5;
  options.steps = 1000;
  const auto with_bad_token = [&](int64_t position) {
    std::vector<uint16_t> tokens(2000, 7);
    tokens[static_cast<size_t>(position)] = 300;
    return folder_.write("tokens.u16.bin", {reinterpret_cast<const char*>(tokens.data()), 4000});
  };
  options.data = {with_bad_token(1000)};
  const Corpus corpus({options.data[0]}, {.sequence = options.sequence});
  const Batches batches(corpus, {options.batch, 1, options.seed});
  options.data = {with_bad_token(batches.window_start(18 * options.batch) + 1)};
  expect_error([&] { whole(); }, {"token 300", "beyond the vocabulary of 256"});
  EXPECT_EQ(last_checkpoint(run_folder()), path("run/step-00000018"));
  EXPECT_EQ(read_metrics(path("run/metrics.jsonl")).steps.size(), 3u);
  const std::string metrics = read_all(path("run/metrics.jsonl"));
  expect_error([&] { resume()->run(never); }, {"token 300"});
  EXPECT_EQ(read_all(path("run/metrics.jsonl")), metrics);
  EXPECT_EQ(checkpoint::saved_steps(run_folder()).size(), 1u);
}

// Before other steps, and before held-out text is read. When the file is whole again, the run goes
// on as if nothing had been.
TEST_F(OwnFiles, HoldWhatIsDoneWhereTheDataIsCutShort) {
  std::string tokens;
  for (const char c : small_text(2000)) tokens.append({c, '\0'});
  options.data = {folder_.write("tokens.u16.bin", tokens)};
  options.save_every = 0;
  whole("whole");
  for (const int64_t step : {6, 5}) {
    const std::string run = "run" + std::to_string(step);
    const auto trainer = begin(run);
    trainer->on_step = [&](const StepMetrics& metrics) {
      if (metrics.step == step) fs::resize_file(options.data[0], 100);
    };
    expect_error([&] { trainer->run(never); }, {"tokens.u16.bin", "cut short"});
    const auto saved = checkpoint::saved_steps(path(run));
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_EQ(saved[0].step, step);
    folder_.write("tokens.u16.bin", tokens);
    resume(run)->run(never);
    expect_same_runs(path("whole"), path(run));
  }
}

TEST_F(OwnFiles, ThatCannotBeSavedEither) {
  const auto data = folder_.write("tokens.u16.bin", std::string(20'000, '\0'));
  options.data = {data};
  const auto trainer = begin();
  trainer->on_step = [&](const StepMetrics& metrics) {
    if (metrics.step != 6) return;
    fs::resize_file(data, 100);
    fs::remove_all(run_folder());
    folder_.write("run", "a file");
  };
  expect_error([&] { trainer->run(never); }, {"cut short", "and step 6 could not be saved"});
}

}  // namespace
}  // namespace coda::train
