// A run's checkpoints: the newest is found, old ones go, and a run that is killed leaves only whole
// ones.
#include "coda/checkpoint/run_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/safetensors.h"
#include "coda/core/random.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

using RunFolder = InFolder;

void write_step(const std::string& folder, int64_t step) {
  const std::vector<float> weights(20000, static_cast<float>(step));
  const auto record = tensor_record("w", DType::kFp32, {20000}, weights.data());
  write_safetensors(folder + "/model.safetensors", {&record, 1});
  write_safetensors(folder + "/optimizer.safetensors", {&record, 1});
  FileOutput output(folder + "/state.json");
  output.write(std::to_string(step));
  output.finish();
}

SavedStep save(const std::string& run, int64_t step, int64_t keep_last) {
  return save_checkpoint(run, step, keep_last,
                         [&](const std::string& folder) { write_step(folder, step); });
}

void expect_whole(const SavedStep& saved) {
  EXPECT_EQ(read_all(saved.path + "/state.json"), std::to_string(saved.step));
  for (const char* name : {"/model.safetensors", "/optimizer.safetensors"}) {
    const SafetensorsFile file(saved.path + name);
    std::vector<float> weights(20000);
    copy_elements(file.tensor("w"), weights);
    EXPECT_EQ(weights, std::vector<float>(20000, static_cast<float>(saved.step))) << name;
  }
}

std::vector<int64_t> steps(const std::string& run) {
  std::vector<int64_t> numbers;
  for (const SavedStep& saved : saved_steps(run)) numbers.push_back(saved.step);
  return numbers;
}

TEST_F(RunFolder, KeepsTheLastOnes) {
  const std::string run = folder_ / "runs/first";
  EXPECT_FALSE(latest_checkpoint(run));
  const SavedStep saved = save(run, 5, 2);
  EXPECT_EQ(saved.path, run + "/step-00000005");
  expect_whole(saved);
  EXPECT_EQ(latest_checkpoint(run)->path, saved.path);
  save(run, 10, 2);
  EXPECT_EQ(steps(run), (std::vector<int64_t>{5, 10}));
  save(run, 123456789, 2);  // more digits than names are filled up to
  EXPECT_EQ(steps(run), (std::vector<int64_t>{10, 123456789}));
  expect_whole(save(run, 123456789, 1));  // again
  EXPECT_EQ(steps(run), std::vector<int64_t>{123456789});
  EXPECT_EQ(latest_checkpoint(run)->step, 123456789);
  save(run, 3, 1);  // what was just saved stays, whatever its number
  EXPECT_EQ(steps(run), (std::vector<int64_t>{3, 123456789}));
}

TEST_F(RunFolder, IgnoresAndRemovesWhatKilledRunsLeft) {
  const std::string run = folder_.path();
  save(run, 1, 3);
  fs::create_directories(folder_ / ".tmp-step-00000002");
  write_all(folder_ / ".tmp-step-00000002/model.safetensors", "half");
  fs::create_directories(folder_ / ".tmp-.tmp-step-00000003");  // moved aside
  for (const char* name : {".tmp-metrics.jsonl", ".tmp-loss.svg"}) {
    write_all(folder_ / name, "half");
  }
  // Somebody else's.
  fs::create_directories(folder_ / ".tmp-notes/more");
  for (const char* name : {".tmp-step-", ".tmp-", ".tmp-step-1.txt", ".tmp-notes/more/text"}) {
    write_all(folder_ / name, "kept");
  }
  write_all(folder_ / "metrics.jsonl", "kept");
  write_all(folder_ / "step-00000009", "no folder");
  for (const char* name : {"step-", "step-x", "step-12x", "step--4", "step-99999999999999999999"}) {
    fs::create_directory(folder_ / name);
  }
  EXPECT_EQ(latest_checkpoint(run)->step, 1);
  save(run, 3, 3);
  EXPECT_EQ(steps(run), (std::vector<int64_t>{1, 3}));
  for (const char* name :
       {".tmp-step-00000002", ".tmp-.tmp-step-00000003", ".tmp-metrics.jsonl", ".tmp-loss.svg"}) {
    EXPECT_FALSE(fs::exists(folder_ / name)) << name;
  }
  for (const char* name :
       {".tmp-step-", ".tmp-", ".tmp-step-1.txt", ".tmp-notes/more/text", "metrics.jsonl"}) {
    EXPECT_EQ(read_all(folder_ / name), "kept") << name;
  }
}

TEST_F(RunFolder, AFailedSaveLeavesTheOthers) {
  const std::string run = folder_.path();
  expect_whole(save(run, 1, 1));
  const auto full = [](const std::string& folder) {
    fs::create_symlink("/dev/full", folder + "/optimizer.safetensors");
    write_step(folder, 2);
  };
  expect_error([&] { save_checkpoint(run, 2, 1, full); },
               {"step-00000002", "optimizer.safetensors", "No space left on device"});
  EXPECT_EQ(latest_checkpoint(run)->step, 1);
  expect_whole(*latest_checkpoint(run));
}

TEST_F(RunFolder, RefusesBadArguments) {
  expect_error([&] { save(folder_.path(), -1, 1); }, {"'step'", "-1"});
  expect_error([&] { save(folder_.path(), 1, 0); }, {"'keep_last'", "got 0"});
  write_all(folder_ / "file", "");
  expect_error([&] { save(folder_ / "file", 1, 1); }, {folder_ / "file", "Not a directory"});
  expect_error([&] { latest_checkpoint(folder_ / "file"); }, {folder_ / "file", "Not a directory"});
}

// Saves steps from the one after the latest on until it is killed; every third of them twice.
[[noreturn]] void save_for_ever(const std::string& run) {
  try {
    const auto latest = latest_checkpoint(run);
    for (int64_t step = latest ? latest->step + 1 : 0;; ++step) {
      save(run, step, 2);
      if (step % 3 == 0) save(run, step, 2);
    }
  } catch (...) {
    _exit(1);
  }
}

TEST_F(RunFolder, IsWholeWheneverTheRunIsKilled) {
  const std::string run = folder_ / "run";
  const auto begin = std::chrono::steady_clock::now();
  save(folder_ / "timed", 0, 1);
  const auto one_save = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  Random random(20);
  int64_t reached = -1;
  int interrupted = 0;  // kills in the middle of a save
  int kills = 0;
  for (; kills < 400 && (kills < 40 || interrupted < 10 || reached < 10); ++kills) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(run);
    usleep(static_cast<useconds_t>(random.between(0, 4 * one_save.count())));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child stopped by itself: " << status;

    for (const SavedStep& saved : saved_steps(run)) expect_whole(saved);
    const auto latest = latest_checkpoint(run);
    ASSERT_GE(latest ? latest->step : -1, reached);
    if (latest) reached = latest->step;
    if (!fs::exists(run)) continue;
    for (const auto& entry : fs::directory_iterator(run)) {
      interrupted += entry.path().filename().string().starts_with(kTemporaryPrefix);
    }
  }
  EXPECT_LT(kills, 400) << interrupted << " in the middle of a save, step " << reached;
  save(run, reached + 1, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(run), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace coda::checkpoint
