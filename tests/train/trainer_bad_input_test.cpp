// What a run turns down, and what it leaves intact when something goes wrong on its way.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <limits>

#include "coda/train/trainer.h"
#include "tests/train/small_run.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;
using BadRun = SmallRun;

TEST_F(BadRun, DoesNotBeginWhereThereIsOne) {
  whole();
  const std::string metrics = read_all(path("run/metrics.jsonl"));
  expect_error([&] { begin(); }, {run_folder(), "step 12", "--resume", "--out"});
  EXPECT_EQ(read_all(path("run/metrics.jsonl")), metrics);
}

TEST_F(BadRun, DoesNotBeginWhereAFileIs) {
  folder_.write("run", "a file");
  expect_error([&] { begin(); }, {"run", "Not a directory"});
  expect_error([&] { begin("run/deeper")->run(never); }, {"run/deeper"});
}

TEST_F(BadRun, HasItsFolderToItself) {
  const auto first = begin(), second = begin();
  int tried = 0;
  first->on_step = [&](const StepMetrics& metrics) {
    if (metrics.step == 2) expect_error([&] { begin()->run(never); }, {run_folder(), "got one"});
    if (metrics.step == 6) expect_error([&] { resume()->run(never); }, {run_folder(), "got one"});
    ++tried;
  };
  first->run(never);
  EXPECT_EQ(tried, options.steps);
  expect_error([&] { second->run(never); }, {run_folder(), "step 12", "--resume"});
  EXPECT_EQ(read_metrics(path("run/metrics.jsonl")).steps.size(), 12u);
}

TEST_F(BadRun, DoesNotGoOnWhereAnotherHas) {
  run_to(*begin(), 4);
  const auto first = resume(), second = resume();
  first->run(never);
  const std::string metrics = read_all(path("run/metrics.jsonl"));
  expect_error([&] { second->run(never); }, {run_folder(), "step 4", "step 12", "--resume"});
  EXPECT_EQ(read_all(path("run/metrics.jsonl")), metrics);
}

TEST_F(BadRun, IsNotInTheFolderOfItsData) {
  options.data = {folder_.path()};
  expect_error([&] { begin("."); }, {"out", "another folder", folder_.path().string()});
  EXPECT_FALSE(fs::exists(path("metrics.jsonl")));
}

TEST_F(BadRun, DoesNotBeginWhereAFileHasACheckpointsName) {
  folder_.write("run/step-00000009", "precious");
  expect_error([&] { whole(); }, {"step-00000009", "got no folder", "move it away"});
  EXPECT_EQ(read_all(path("run/step-00000009")), "precious");
}

TEST_F(BadRun, NamesWhatItsModelLacks) {
  options.model = "tny";
  expect_error([&] { begin(); }, {"tiny, small", "config.json", "'tny'"});
  options.model = path("no folder");
  expect_error([&] { begin(); }, {"no folder", "config.json"});
  fs::create_directories(path("empty"));
  options.model = path("empty");
  expect_error([&] { begin(); }, {"empty/config.json"});
  folder_.write("empty/config.json", small_config(64, "mamba"));
  expect_error([&] { begin(); }, {"empty/config.json", "model_type", "mamba", "llama"});
  EXPECT_FALSE(fs::exists(run_folder()));
}

TEST_F(BadRun, NamesWhatItsDataLacks) {
  const auto expect = [&](const std::string& data, std::initializer_list<std::string> parts) {
    options.data = {data};
    expect_error([&] { begin(); }, parts);
    EXPECT_FALSE(fs::exists(run_folder()));
  };
  expect(path("missing.txt"), {"missing.txt", "no such file"});
  expect("", {"data: ''", "no such file"});
  expect(folder_.write("empty.txt", ""), {"empty.txt", "no text", "1 of them empty"});
  expect(folder_.write("short.txt", "0123456789"), {"10 tokens", "sequences of 16", "--seq 4"});
  expect(folder_.write("odd.bin", "abc"), {"odd.bin", "multiple of 2 bytes"});
  const std::string locked = folder_.write("locked.txt", small_text(100));
  fs::permissions(locked, fs::perms::none);
  if (geteuid() != 0) expect(locked, {"locked.txt", "Permission denied"});  // root reads all
  // Tokens beyond the vocabulary are met on the way.
  std::string tokens;
  for (int i = 0; i < 2000; ++i) tokens += {static_cast<char>(i), static_cast<char>(1)};
  options.data = {folder_.write("wide.bin", tokens)};
  expect_error([&] { whole(); }, {"wide.bin", "beyond the vocabulary of 256"});
  options.data = {};
  expect_error([&] { begin("other"); }, {"data", "no path"});
}

TEST_F(BadRun, ChecksItsOptions) {
  const auto expect = [&](auto&& change, std::initializer_list<std::string> parts) {
    const RunOptions before = options;
    change(options);
    expect_error([&] { begin(); }, parts);
    options = before;
  };
  expect([](RunOptions& o) { o.steps = -1; }, {"'steps'", "at least 0", "-1"});
  expect([](RunOptions& o) { o.batch = 0; }, {"'batch'", "at least 1", "0"});
  expect([](RunOptions& o) { o.parts = 3; }, {"'parts'", "divisor of the batch, 4", "3"});
  expect([](RunOptions& o) { o.sequence = 0; }, {"'seq'", "at least 1", "0"});
  expect([](RunOptions& o) { o.keep = 0; }, {"'keep'", "at least 1", "0"});
  expect([](RunOptions& o) { o.read_every = 0; }, {"'read-every'", "at least 1", "0"});
  expect([](RunOptions& o) { o.learning_rate = NAN; }, {"'lr'", "nan"});
  expect([](RunOptions& o) { o.decay = 2; }, {"'decay'", "2"});
  for (const double norm : {-1.0, double(NAN), double(INFINITY)}) {
    expect([&](RunOptions& o) { o.max_norm = norm; }, {"'max-norm'", "no clipping"});
  }
  expect([](RunOptions& o) { o.type = "fp8"; }, {"'dtype'", "bf16, fp32", "fp8"});
  expect([](RunOptions& o) { o.recompute = "all"; }, {"'recompute'", "block", "all"});
  expect([](RunOptions& o) { o.fold = "no"; }, {"'fold'", "kept", "no"});
  expect([](RunOptions& o) { o.data = {"\xff.txt"}; }, {"--data", "UTF-8"});
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  expect([](RunOptions& o) { o.sequence = kHuge; }, {"too few for sequences of"});
  expect([](RunOptions& o) { o.batch = kHuge; }, {"batch"});
  expect([](RunOptions& o) { o.batch = int64_t{1} << 30; }, {"batch"});
  EXPECT_FALSE(fs::exists(run_folder()));
}

// run.json has absolute paths.
TEST_F(BadRun, IsRefusedInAFolderThatRunJsonCannotName) {
  const fs::path before = fs::current_path();
  folder_.write("\xff/text", small_text(3000));
  fs::current_path(folder_.path() / "\xff");
  options.data = {"text"};
  expect_error([&] { begin(); }, {"--data", "UTF-8"});
  fs::current_path(before);
}

// The weights become no numbers after step 6; the last checkpoint is that of step 4.
TEST_F(BadRun, StopsAtALossThatIsNoNumber) {
  whole("whole");
  const auto trainer = begin();
  trainer->on_step = [&](const StepMetrics& step) {
    if (step.step != 6) return;
    const block::Parameter& norm = trainer->model().parameters().final_norm();
    trainer->model().set_weight(norm, std::vector<float>(32, NAN));
  };
  expect_error([&] { trainer->run(never); },
               {"step 7: expected a finite loss", "loss nan", "checkpoint of step 4", "--lr"});
  EXPECT_EQ(read_metrics(path("run/metrics.jsonl")).steps.size(), 6u);
  EXPECT_EQ(resume()->step(), 4);
  resume()->run(never);
  expect_same_runs(path("whole"), run_folder());
}

TEST_F(BadRun, NamesTheStepsBetweenTwoLooksAtTheLoss) {
  options.read_every = 3;
  options.save_every = options.evaluate_every = 0;
  const auto trainer = begin();
  trainer->on_step = [&](const StepMetrics&) {
    const block::Parameter& norm = trainer->model().parameters().final_norm();
    trainer->model().set_weight(norm, std::vector<float>(32, NAN));
  };
  expect_error([&] { trainer->run(never); }, {"steps 4 to 6: expected", "no checkpoint yet"});
}

TEST_F(BadRun, DoesNotBeginWithWeightsThatAreNoNumbers) {
  const auto trainer = begin();
  const block::Parameter& norm = trainer->model().parameters().final_norm();
  trainer->model().set_weight(norm, std::vector<float>(32, INFINITY));
  expect_error([&] { trainer->run(never); }, {"step 0: expected a finite loss on held-out text"});
  EXPECT_FALSE(checkpoint::latest_checkpoint(run_folder()));
}

// A limit on the size of files stands for a full disk.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  void begin() const {
    const rlimit limit{8192, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }

 private:
  rlimit before_{};
};

TEST_F(BadRun, KeepsItsCheckpointOnAFullDisk) {
  whole("whole");
  const std::string first = path("run/step-00000004");
  std::string saved[std::size(kCheckpointFiles)];
  {
    const FullDisk disk;
    const auto trainer = begin();
    trainer->on_step = [&](const StepMetrics& step) {
      if (step.step != 5) return;
      for (size_t i = 0; i < std::size(saved); ++i) {
        saved[i] = read_all(first + "/" + kCheckpointFiles[i]);
      }
      disk.begin();
    };
    expect_error([&] { trainer->run(never); },
                 {"step-00000008", "was not written", "what was there before is as it was",
                  "File too large"});
  }
  EXPECT_EQ(last_checkpoint(run_folder()), first);
  for (size_t i = 0; i < std::size(saved); ++i) {
    EXPECT_TRUE(read_all(first + "/" + kCheckpointFiles[i]) == saved[i]) << kCheckpointFiles[i];
  }
  resume()->run(never);  // there is room again
  expect_same_runs(path("whole"), run_folder());
}

}  // namespace
}  // namespace coda::train
