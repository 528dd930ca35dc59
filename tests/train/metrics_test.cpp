// What is appended is read back, and a resumed run's file is as if it had never stopped.
#include "coda/train/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "coda/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/program/expect_error.h"

namespace coda::train {
namespace {

namespace fs = std::filesystem;

StepMetrics step_metrics(int64_t step) {
  const auto x = static_cast<float>(step);
  return {step, 5 / x, 1e-3f / x, 0.1f * x, step * 4096, 0.3f, 4096 / 0.3f};
}

void write_steps(const fs::path& path, int64_t first, int64_t last, int64_t resumed) {
  MetricsFile file(path, resumed);
  if (resumed == 0) file.append(HeldOutMetrics{0, 5.5f});
  for (int64_t step = first; step <= last; ++step) {
    file.append(step_metrics(step));
    if (step % 4 == 0) file.append(HeldOutMetrics{step, 5.5f / static_cast<float>(step)});
  }
}

TEST(Metrics, AreLinesOfJson) {
  EXPECT_EQ(metrics_line(StepMetrics{7, 2.5f, 1e-5f, 0.1f, 4096, 0.25f, 16384}),
            "{\"step\":7,\"loss\":2.5,\"learning_rate\":1e-05,\"gradient_norm\":0.1,"
            "\"tokens\":4096,\"seconds\":0.25,\"tokens_per_second\":16384}\n");
  EXPECT_EQ(metrics_line(HeldOutMetrics{0, 5.5f}), "{\"step\":0,\"held_out_loss\":5.5}\n");
  EXPECT_TRUE(nlohmann::json::accept(metrics_line(StepMetrics{.loss = INFINITY})));
}

RC_GTEST_PROP(Metrics, AreReadBack, (std::vector<float> numbers)) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "metrics.jsonl";
  Metrics expected;
  {
    MetricsFile file(path, 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto step = static_cast<int64_t>(i);
      expected.steps.push_back({step, numbers[i], -numbers[i], numbers[i] * 1e30f, step << 40});
      if (!std::isfinite(expected.steps.back().gradient_norm)) {
        expected.steps.back().gradient_norm = 0;
      }
      expected.held_out.push_back({step, numbers[i]});
      file.append(expected.steps.back());
      file.append(expected.held_out.back());
    }
  }
  const Metrics read = read_metrics(path);
  RC_ASSERT(read.steps == expected.steps);
  RC_ASSERT(read.held_out == expected.held_out);
}

TEST(Metrics, KeepThatALossWasNoNumber) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "metrics.jsonl";
  MetricsFile file(path, 0);
  file.append(StepMetrics{.step = 1, .loss = std::numeric_limits<float>::quiet_NaN()});
  file.append(StepMetrics{.step = 2, .loss = 1, .gradient_norm = INFINITY});
  file.append(HeldOutMetrics{2, NAN});
  const Metrics read = read_metrics(path);
  EXPECT_TRUE(std::isnan(read.steps.at(0).loss));
  EXPECT_TRUE(std::isnan(read.steps.at(1).gradient_norm));
  EXPECT_TRUE(std::isnan(read.held_out.at(0).loss));
}

RC_GTEST_PROP(Metrics, ResumeAsIfNeverStopped, ()) {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", killed = folder.path() / "killed";
  const auto steps = *rc::gen::inRange<int64_t>(1, 30);
  const auto died_at = *rc::gen::inRange<int64_t>(0, steps + 1);
  const auto resumed = *rc::gen::inRange<int64_t>(0, died_at + 1);
  write_steps(whole, 1, steps, 0);
  write_steps(killed, 1, died_at, 0);
  // Killed in the middle of a line.
  const std::string next = metrics_line(step_metrics(died_at + 1));
  const auto cut = *rc::gen::inRange<size_t>(0, next.size());
  std::ofstream(killed, std::ios::app) << next.substr(0, cut);
  write_steps(killed, resumed + 1, steps, resumed);
  RC_ASSERT(read_all(killed) == read_all(whole));
}

TEST(Metrics, LeaveNothingElseBehind) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "metrics.jsonl";
  write_steps(path, 1, 10, 0);
  write_steps(path, 6, 10, 5);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  EXPECT_EQ(read_metrics(path).steps.size(), 10u);
}

TEST(Metrics, RefuseForeignFiles) {
  const TemporaryFolder folder;
  const std::string good = metrics_line(StepMetrics{.step = 1});
  for (const std::string bad :
       {"no json", "[1,2]", "7", "{\"step\":\"one\"}", "{\"loss\":1}", "", "\xff\xfe",
        "{\"step\":2,\"loss\":\"low\",\"learning_rate\":0,\"gradient_norm\":0,\"tokens\":0,"
        "\"seconds\":0,\"tokens_per_second\":0}"}) {
    const fs::path path = folder.write("metrics.jsonl", good + bad + "\n" + good);
    const std::string message = message_of([&] { read_metrics(path); });
    EXPECT_NE(message.find("metrics.jsonl' line 2"), std::string::npos) << message;
  }
  const fs::path path = folder.write("metrics.jsonl", "no json\n");
  EXPECT_THROW(MetricsFile(path, 3), Error);
  EXPECT_EQ(read_all(path), "no json\n");
  EXPECT_THROW(read_metrics(folder.path() / "none"), Error);
}

// A run that begins empties the file of one that was killed before its first checkpoint, and
// nobody else's.
TEST(Metrics, OfARunThatBeginsReplaceThoseOfARunOnly) {
  const TemporaryFolder folder;
  const std::string line = metrics_line(StepMetrics{.step = 1});
  const std::string sorted = "{\"held_out_loss\": 1.0, \"step\": 0}\n";  // by another program
  for (const std::string& ours :
       {std::string(), line, line + line.substr(0, 20), sorted, metrics_line(HeldOutMetrics{0, 1}),
        line.substr(0, 5), line.substr(0, line.size() - 1)}) {
    const fs::path path = folder.write("metrics.jsonl", ours);
    {
      const MetricsFile begun(path, 0);
    }
    EXPECT_EQ(read_all(path), "") << ours;
  }
  for (const std::string& theirs :
       {std::string("notes"), std::string("notes\n"), "x" + line, std::string("{\"step\":1}\n"),
        line + "notes\n", std::string("{\"step\":5,\"accuracy\":0.9}")}) {
    const fs::path path = folder.write("metrics.jsonl", theirs);
    expect_error([&] { MetricsFile(path, 0); },
                 {"metrics.jsonl' line ", "expected the metrics", "move the file away"});
    EXPECT_EQ(read_all(path), theirs);
  }
}

TEST(Metrics, SayWhyTheyCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string message =
      message_of([&] { MetricsFile(folder.path() / "no folder/metrics.jsonl", 0); });
  EXPECT_NE(message.find("no folder/metrics.jsonl': No such file"), std::string::npos) << message;
}

// A limit on the size of files stands for a full disk.
TEST(Metrics, SurviveAFullDisk) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "metrics.jsonl";
  MetricsFile file(path, 0);
  file.append(step_metrics(1));
  const auto size = static_cast<rlim_t>(fs::file_size(path));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{size + 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = message_of([&] { file.append(step_metrics(2)); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(message.find("metrics.jsonl': File too large"), std::string::npos) << message;
  EXPECT_EQ(fs::file_size(path), size + 10);  // half a line, which nobody sees:
  EXPECT_EQ(read_metrics(path).steps, std::vector{step_metrics(1)});
  MetricsFile(path, 1).append(step_metrics(2));
  EXPECT_EQ(read_metrics(path).steps, (std::vector{step_metrics(1), step_metrics(2)}));
}

}  // namespace
}  // namespace coda::train
