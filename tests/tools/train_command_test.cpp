// coda train and coda eval as somebody types them.
#include <gtest/gtest.h>

#include <cmath>

#include "coda/train/metrics.h"
#include "tests/tools/run_coda.h"
#include "tests/train/small_run.h"

namespace coda::tools {
namespace {

namespace fs = std::filesystem;

class TrainCommand : public train::SmallRun {
 protected:
  std::vector<std::string> training(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "train",   "--data", path("data.txt"), "--model", path("model"), "--out", run_folder(),
        "--steps", "6",      "--batch",        "4",       "--seq",       "16",    "--threads",
        "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // As training(), of another model and into another folder.
  std::vector<std::string> training_of(const std::string& model, const std::string& out) const {
    std::vector<std::string> words = training();
    *(std::ranges::find(words, "--model") + 1) = model;
    *(std::ranges::find(words, "--out") + 1) = path(out);
    return words;
  }

  // Nothing is left behind either.
  void expect_bad_use(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& parts) {
    tools::expect_bad_use(arguments, parts);
    EXPECT_FALSE(fs::exists(run_folder()));
  }
};

TEST_F(TrainCommand, Helps) {
  const Outcome train = coda({"train", "--help"});
  EXPECT_EQ(train.status, kSuccess);
  for (const char* part : {"--data", "--model", "tiny", "--steps", "--batch", "--seq", "--lr",
                           "--device", "--out", "--resume", "--seed", "Ctrl-C", "130"}) {
    EXPECT_TRUE(contains(train.out, part)) << part << " is not in\n" << train.out;
  }
  const Outcome eval = coda({"eval", "--help"});
  EXPECT_EQ(eval.status, kSuccess);
  for (const char* part : {"--data", "--model", "--held-out", "--device"}) {
    EXPECT_TRUE(contains(eval.out, part)) << part << " is not in\n" << eval.out;
  }
}

TEST_F(TrainCommand, TrainsAndSumsUp) {
  const Outcome outcome = coda(training());
  EXPECT_EQ(outcome.status, kSuccess) << outcome.err;
  for (const char* part : {"6 steps", "held-out tokens", "before", "after", "time per operation",
                           "F5, B8", "planned", "seen", "step-00000006", "loss.svg"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
  }
  EXPECT_FALSE(contains(outcome.out, "--resume"));
}

TEST_F(TrainCommand, SaysWhatItBeginsWith) {
  const Outcome random = coda(training({"--seed", "7"}));
  EXPECT_TRUE(contains(random.out, "begins with random weights (seed 7)\n")) << random.out;
  const std::string checkpoint = train::last_checkpoint(run_folder());
  const Outcome resumed = coda({"train", "--resume", run_folder(), "--threads", "1"});
  EXPECT_TRUE(contains(resumed.out, "weights read from " + checkpoint + "\n")) << resumed.out;
  const Outcome given = coda(training_of(run_folder(), "next"));
  EXPECT_EQ(given.status, kSuccess) << given.err;
  EXPECT_TRUE(contains(given.out, "weights read from " + checkpoint + "\n")) << given.out;
  folder_.write(fs::relative(checkpoint, folder_.path()) / "run.json", R"({"name": "of others"})");
  const Outcome foreign = coda(training_of(checkpoint, "third"));
  EXPECT_EQ(foreign.status, kSuccess) << foreign.err;
  std::vector<std::string> eval = {"eval", "--model", checkpoint, "--seq", "16"};
  tools::expect_bad_use(eval, {"run.json: not the state of a run"});
  eval.insert(eval.end(), {"--data", path("data.txt")});
  EXPECT_EQ(coda(eval).status, kSuccess);
}

// Of models that were trained with a tokenizer, not of those that coda trained.
TEST_F(TrainCommand, SaysThatBytesAreNotTheModelsTokens) {
  const std::string note = "the model's vocabulary has 257 tokens";
  folder_.write("model/config.json", train::small_gpt2_config());
  const Outcome random = coda(training());
  EXPECT_EQ(random.status, kSuccess) << random.err;
  EXPECT_FALSE(contains(random.out, note)) << random.out;
  const std::string checkpoint = train::last_checkpoint(run_folder());
  const std::vector<std::string> eval = {"eval",           "--model", checkpoint, "--data",
                                         path("data.txt"), "--seq",   "16"};
  EXPECT_FALSE(contains(coda(eval).out, note));
  EXPECT_FALSE(contains(coda(training_of(checkpoint, "next")).out, note));
  fs::remove(checkpoint + "/run.json");
  const Outcome evaluated = coda(eval);
  EXPECT_EQ(evaluated.status, kSuccess) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.out, note)) << evaluated.out;
  const Outcome given = coda(training_of(checkpoint, "other"));
  EXPECT_EQ(given.status, kSuccess) << given.err;
  EXPECT_TRUE(contains(given.out, note)) << given.out;
}

TEST_F(TrainCommand, OfGpt2SaysThatItTrainsWithoutDropout) {
  folder_.write("model/config.json", train::small_gpt2_config(0.25));
  const Outcome outcome = coda(training());
  EXPECT_EQ(outcome.status, kSuccess) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "resid_pdrop 0.25")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "coda trains without it")) << outcome.out;
  const Outcome eval = coda({"eval", "--model", run_folder()});
  EXPECT_EQ(eval.status, kSuccess) << eval.err;
  EXPECT_TRUE(contains(eval.out, "perplexity")) << eval.out;
  const Outcome longer = coda({"eval", "--model", run_folder(), "--seq", "25"});
  EXPECT_EQ(longer.status, kBadUse);
  EXPECT_TRUE(contains(longer.err, "at most 24 tokens")) << longer.err;
}

TEST_F(TrainCommand, OfGpt2RefusesLongSequences) {
  folder_.write("model/config.json", train::small_gpt2_config());
  expect_bad_use({"train", "--data", path("data.txt"), "--model", path("model"), "--out",
                  run_folder(), "--batch", "4", "--seq", "25"},
                 {"at most 24 tokens", "n_positions", "got 25"});
}

TEST_F(TrainCommand, ExplainsTyposAndBadValues) {
  expect_bad_use({"train", "--step", "3"}, {"--step", "did you mean '--steps'?"});
  expect_bad_use({"train", "--resum", "x"}, {"--resum", "did you mean '--resume'?"});
  expect_bad_use({"eval", "--modl", "x"}, {"coda eval --help"});
  expect_bad_use({"eval"}, {"--model", "required"});
  expect_bad_use(training({"--device", "tpu"}), {"--device", "tpu", "cpu"});
  expect_bad_use({"train", "--steps", "many"}, {"--steps", "many"});
  for (const char* steps : {"", "0x10", "1e3", "9223372036854775808"}) {
    expect_bad_use({"train", "--steps", steps}, {"--steps", "a whole number", steps});
  }
  expect_bad_use(training({"--seed", "-1"}), {"--seed", "from 0 on", "'-1'"});
  expect_bad_use(training({"--lr", ""}), {"--lr", "a number", "''"});
  expect_bad_use(training({"--lr", "0x10"}), {"--lr", "a number", "'0x10'"});
  expect_bad_use(training({"--lr", "-1"}), {"'lr'", "above 0", "-1"});
  expect_bad_use(training({"--parts", "3"}), {"'parts'", "divisor of the batch, 4", "3"});
  expect_bad_use({"train", "--model", "tny", "--out", run_folder(), "--data", path("data.txt")},
                 {"tiny, small", "'tny'"});
  expect_bad_use({"train", "--data", path("none"), "--out", run_folder()},
                 {"none", "no such file"});
  expect_bad_use({"train", "--resume", run_folder()}, {run_folder(), "got none", "--out"});
  for (const char* threads : {"-1", "100000"}) {
    expect_bad_use({"train", "--threads", threads, "--out", run_folder()}, {"threads", threads});
    expect_bad_use(
        {"eval", "--threads", threads, "--model", path("model"), "--data", path("data.txt")},
        {"threads", threads});
  }
  expect_bad_use({"train", "--resume", ""}, {"''", "expected the folder of a run"});
  expect_bad_use({"eval", "--model", run_folder()}, {"run/config.json"});
}

TEST_F(TrainCommand, ResumesWithTheRunsOwnOptionsOnly) {
  expect_bad_use({"train", "--resume", run_folder(), "--steps", "9", "--lr", "0.1"},
                 {"--resume", "leave out --steps, --lr"});
  expect_bad_use({"train", "--out", "x", "--resume", run_folder()}, {"leave out --out"});
  EXPECT_EQ(coda(training()).status, kSuccess);
  const Outcome again = coda(training());
  EXPECT_EQ(again.status, kBadUse);
  EXPECT_TRUE(contains(again.err, "--resume " + run_folder())) << again.err;
  const Outcome resumed = coda({"train", "--resume", run_folder(), "--threads", "1"});
  EXPECT_EQ(resumed.status, kSuccess) << resumed.err;
  EXPECT_TRUE(contains(resumed.out, "0 steps (to step 6)")) << resumed.out;
}

TEST_F(TrainCommand, PlansWithoutTraining) {
  const Outcome outcome = coda(training({"--plan"}));
  EXPECT_EQ(outcome.status, kSuccess);
  for (const char* part : {"model.embed_tokens.weight", "moments", "activations", "in all"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part;
  }
  EXPECT_FALSE(fs::exists(run_folder()));
  ASSERT_EQ(coda(training()).status, kSuccess);
  EXPECT_EQ(coda(training({"--plan"})).out, outcome.out);  // a plan needs no folder of its own
}

#if !defined(CODA_HAS_CUDA)
TEST_F(TrainCommand, SaysThatTheBuildHasNoGpuKernels) {
  expect_bad_use(training({"--device", "cuda"}), {"cuda", "no GPU kernels", "nvcc"});
}
#endif

// With the same batches as the trainer's: the same loss, in all digits that are printed.
TEST_F(TrainCommand, EvaluatesWhatWasTrained) {
  for (const char* type : {"bf16", "fp32"}) {
    ASSERT_EQ(coda(training({"--dtype", type, "--held-out-batches", "1000"})).status, kSuccess);
    const train::Metrics metrics = train::read_metrics(path("run/metrics.jsonl"));
    const auto loss = static_cast<double>(metrics.held_out.back().loss);
    const std::string checkpoint = train::last_checkpoint(run_folder());
    char expected[80];
    std::snprintf(expected, sizeof(expected), "loss %.4f, perplexity %.3f on ", loss,
                  std::exp(loss));
    for (const std::string& model : {run_folder(), checkpoint}) {
      const Outcome outcome = coda({"eval", "--model", model, "--batch", "4", "--threads", "1"});
      EXPECT_EQ(outcome.status, kSuccess) << outcome.err;
      EXPECT_TRUE(contains(outcome.out, expected)) << outcome.out << expected;
      EXPECT_TRUE(outcome.out.starts_with(checkpoint)) << outcome.out;
    }
    const Outcome other = coda({"eval", "--model", checkpoint, "--batch", "4", "--data",
                                folder_.write("other.txt", train::small_text(3000))});
    EXPECT_EQ(other.status, kSuccess) << other.err;
    EXPECT_FALSE(contains(other.out, expected)) << other.out;
    const std::vector<std::string> eval = {"eval",    "--model", checkpoint,
                                           "--batch", "4",       "--dtype"};
    std::vector<std::string> same = eval, rounded = eval;
    same.emplace_back("fp32");
    rounded.emplace_back("bf16");
    EXPECT_EQ(contains(coda(same).out, expected), type == std::string("fp32"));
    EXPECT_EQ(contains(coda(rounded).out, expected), type == std::string("bf16"));
    fs::remove_all(run_folder());
  }
  EXPECT_EQ(coda({"eval", "--model", path("model"), "--dtype", "fp16"}).status, kBadUse);
}

TEST_F(TrainCommand, EvaluatesAndSaysWhatWasTrainedOn) {
  ASSERT_EQ(coda(training()).status, kSuccess);
  const std::vector<std::string> eval = {"eval", "--model", run_folder(), "--threads", "1"};
  const Outcome same = coda(eval);
  EXPECT_TRUE(same.out.starts_with(run_folder())) << same.out;
  std::vector<std::string> more = eval;
  more.insert(more.end(), {"--held-out", "0.5"});
  const Outcome larger = coda(more);
  EXPECT_EQ(larger.status, kSuccess) << larger.err;
  EXPECT_TRUE(contains(larger.out, "the model was trained on ")) << larger.out;
  folder_.write("data.txt", train::small_text(3000));
  const Outcome changed = coda(eval);
  EXPECT_EQ(changed.status, kSuccess) << changed.err;
  EXPECT_TRUE(contains(changed.out, "not what it was when the model was trained")) << changed.out;
}

TEST_F(TrainCommand, EvaluatesToALossOrFails) {
  train::write_equal_weights(path("model"), train::huge_norm);
  const Outcome outcome = coda({"eval", "--model", path("model"), "--data", path("data.txt"),
                                "--seq", "16", "--threads", "1"});
  EXPECT_EQ(outcome.status, kBadUse) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "perplexity")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, path("model") + ": expected a finite loss, got "))
      << outcome.err;
}

}  // namespace
}  // namespace coda::tools
